//! Functions in Ruby of an environment that plans do not call: [`replaced_functions`].
//!
//! Invariant: a file that cannot be read is reported, not skipped.

use crate::defaults::{REPLACED_FUNCTIONS_SHOWN, RUBY_FUNCTION_DEPTH, RUBY_FUNCTIONS_MAX};
use crate::{CodeError, CodeVersion};

/// A function of a module in Ruby that Puppet would call, and that Tutti replaces by a built-in
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedFunction {
    /// Name of the function, such as `merge` or `stdlib::ensure`.
    pub name: String,
    /// Name of the module that contains it.
    pub module: String,
    /// Path of its file, relative to the module.
    pub path: String,
}

impl std::fmt::Display for ReplacedFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, module, path } = self;
        write!(
            f,
            "the function {name} of the module {module} ({module}/{path}) is Ruby and not the one of stdlib 8.5 or 9.7: \
             plans call the built-in function, which may do something else"
        )
    }
}

/// The note for a deployment of an environment with such functions; `None` if there are none.
#[must_use]
pub fn replaced_functions_note(functions: &[ReplacedFunction]) -> Option<String> {
    let mut named: Vec<String> = functions
        .iter()
        .take(REPLACED_FUNCTIONS_SHOWN)
        .map(|it| format!("{} ({}/{})", it.name, it.module, it.path))
        .collect();
    if let Some(more) = functions.len().checked_sub(REPLACED_FUNCTIONS_SHOWN + 1) {
        named.push(format!("and {} more", more + 1));
    }
    (!named.is_empty()).then(|| {
        format!(
            "plans call the built-in functions instead of these of modules, which are Ruby and not those of stdlib 8.5 \
             or 9.7: {}",
            named.join(", ")
        )
    })
}

/// The replaced functions of an environment, sorted by name.
pub fn replaced_functions(code: &dyn CodeVersion) -> Result<Vec<ReplacedFunction>, CodeError> {
    let mut found = Vec::new();
    for module in code.modules()? {
        for directory in stdlib::RUBY_FUNCTION_DIRECTORIES {
            collect_functions(
                code,
                &module.name,
                directory,
                RUBY_FUNCTION_DEPTH,
                &mut found,
            )?;
        }
    }
    found.sort_by(|a, b| (&a.name, &a.module, &a.path).cmp(&(&b.name, &b.module, &b.path)));
    Ok(found)
}

fn collect_functions(
    code: &dyn CodeVersion,
    module: &str,
    directory: &str,
    depth: usize,
    found: &mut Vec<ReplacedFunction>,
) -> Result<(), CodeError> {
    for entry in code.entries(Some(module), directory)? {
        if found.len() >= RUBY_FUNCTIONS_MAX {
            break;
        }
        let path = format!("{directory}/{}", entry.name);
        if entry.is_directory {
            if depth > 0 {
                collect_functions(code, module, &path, depth - 1, found)?;
            }
            continue;
        }
        // Without its content the function counts as different, and one whose name is not built in
        // needs no check.
        if stdlib::replaced_function(&path, b"").is_none() {
            continue;
        }
        let source = code.source(Some(module), &path)?;
        let content = source.map(|source| source.content).unwrap_or_default();
        if let Some(name) = stdlib::replaced_function(&path, &content) {
            let module = module.to_owned();
            found.push(ReplacedFunction { name, module, path });
        }
    }
    Ok(())
}
