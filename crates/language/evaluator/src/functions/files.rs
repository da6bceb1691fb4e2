//! `file`, `binary_file`, `find_file`, `find_template`, `module_directory`: files of modules.

use std::sync::Arc;

use pcore::{Binary, Value};

use crate::Evaluator;
use crate::code_source::{CodeOwner, SourceFile};
use crate::defaults::PATH_BYTES_MAX;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one, some};

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "file",
        &[FunctionDispatch::new(&[some("Any", "names")], file)],
    ),
    FunctionSpec::new(
        "binary_file",
        &[FunctionDispatch::new(&[one("String", "path")], binary_file)],
    ),
    FunctionSpec::new(
        "find_file",
        &[
            FunctionDispatch::new(&[any("String", "paths")], find_file),
            FunctionDispatch::new(&[any("Array[String]", "paths_array")], find_file),
        ],
    ),
    FunctionSpec::new(
        "find_template",
        &[
            FunctionDispatch::new(&[any("String", "paths")], find_template),
            FunctionDispatch::new(&[any("Array[String]", "paths_array")], find_template),
        ],
    ),
    FunctionSpec::new(
        "module_directory",
        &[
            FunctionDispatch::new(&[any("String", "names")], module_directory),
            FunctionDispatch::new(&[any("Array[String]", "names")], module_directory),
        ],
    ),
];

impl Evaluator<'_> {
    /// Reads a file in `templates/` or `files/` of a module, named `module/path`, or by the
    /// absolute path that `find_file` returns. In a catalog the absolute path may lead to any folder
    /// of a module.
    pub(crate) fn module_file(&self, name: &str, folder: &str) -> EvalResult<Option<SourceFile>> {
        let (module, folder, path) = if name.starts_with('/') {
            match self.of_path(name, folder) {
                Some(found) => found,
                None => return Ok(None),
            }
        } else {
            match name.split_once('/') {
                Some((module, path)) => (module, folder, path),
                None => return Ok(None),
            }
        };
        // as for Puppet, several slashes between names are one
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let is_file = !names.is_empty() && !path.ends_with('/');
        let is_inside = !module.is_empty() && !names.iter().any(|name| matches!(*name, "." | ".."));
        if !is_file || !is_inside {
            return Ok(None);
        }
        let path = format!("{folder}/{}", names.join("/"));
        let code = self.host().code();
        let file = code.read(CodeOwner::Module(module), &path);
        file.or_else(|error| raise(error.to_string()))
    }

    /// Finds a file by `module/path` or its absolute path, for functions of a host. `folder` is
    /// `templates` or `files`.
    pub fn find_module_file(&self, name: &str, folder: &str) -> EvalResult<Option<SourceFile>> {
        self.module_file(name, folder)
    }

    /// Splits an absolute path into a module, a folder of it and the path below; `None` if it leads
    /// into no module. A plan records each module that it asks for, so it asks only where the folder
    /// follows.
    fn of_path<'p>(&self, path: &'p str, folder: &str) -> Option<(&'p str, &'p str, &'p str)> {
        if path.len() > PATH_BYTES_MAX {
            return None;
        }
        let takes_any_folder = self.host().catalog().is_some();
        path.match_indices('/').find_map(|(at, _)| {
            let (found_folder, rest) = path[at + 1..].split_once('/')?;
            if !takes_any_folder && found_folder != folder {
                return None;
            }
            let directory = &path[..at];
            let (_, module) = directory.rsplit_once('/')?;
            let found = self.host().code().module(module)?;
            (*found.path == *directory).then_some((module, found_folder, rest))
        })
    }
}

/// Returns the file names in the arguments of a call, with lists flattened.
fn names(call: &CallArguments<'_>) -> Vec<Arc<str>> {
    crate::ruby::flatten(&call.arguments)
        .iter()
        .filter_map(|it| it.as_str().map(Arc::from))
        .collect()
}

/// Returns the first of the files that exists.
fn first(
    evaluator: &Evaluator<'_>,
    names: &[Arc<str>],
    folder: &str,
) -> EvalResult<Option<SourceFile>> {
    for name in names {
        if let Some(found) = evaluator.module_file(name, folder)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn file(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let names = names(&call);
    let Some(found) = first(evaluator, &names, "files")? else {
        return raise(format!(
            "Could not find any files from {}",
            names.join(", ")
        ));
    };
    evaluator.charge_bytes(found.bytes.len())?;
    match std::str::from_utf8(&found.bytes) {
        Ok(text) => Ok(Value::from(text)),
        Err(_) => raise(format!(
            "{} is not UTF-8: read it with binary_file",
            found.path
        )),
    }
}

fn binary_file(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let name = call.text(0);
    match evaluator.module_file(&name, "files")? {
        Some(found) => {
            evaluator.charge_bytes(found.bytes.len())?;
            Ok(Value::Binary(Binary::new(found.bytes)))
        }
        None => raise(format!(
            "binary_file(): The given file '{name}' does not exist"
        )),
    }
}

fn find_file(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let found = first(evaluator, &names(&call), "files")?;
    Ok(found.map_or(Value::Undef, |it| Value::Str(it.path)))
}

fn find_template(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let found = first(evaluator, &names(&call), "templates")?;
    Ok(found.map_or(Value::Undef, |it| Value::Str(it.path)))
}

fn module_directory(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let host = evaluator.host();
    for name in names(&call) {
        if let Some(module) = host.code().module(&name) {
            return Ok(Value::Str(module.path));
        }
    }
    Ok(Value::Undef)
}
