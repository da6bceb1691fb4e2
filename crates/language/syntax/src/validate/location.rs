//! Check that a file of a module defines the name that its path implies: [`ModuleLocation`].

use std::path::{Component, Path};

use super::AstValidator;
use crate::SourceSpan;
use crate::ast::{DefinitionKind, Expr};

/// The position of a file within a module, as it concerns names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleLocation {
    /// The path that messages name.
    file: String,
    /// The prefix of all names in the file; `None` if nothing may be defined.
    namespace: Option<String>,
}

impl ModuleLocation {
    /// The prefix of all names in the file; `None` if nothing may be defined.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The location of a manifest below a directory of modules. `None` for files to which no rule
    /// applies: those outside, and those that are not manifests.
    #[must_use]
    pub fn of(file: &Path, modules: &Path) -> Option<Self> {
        if file.extension().is_none_or(|extension| extension != "pp") {
            return None;
        }
        let parts = lower_parts(file.strip_prefix(modules).ok()?)?;
        Some(Self {
            file: file.display().to_string(),
            namespace: namespace(&parts),
        })
    }

    /// The location of a manifest at the path `below`, relative to the root of a module. `None` for
    /// files that are not loaded by name, such as examples, and for those that are not manifests.
    #[must_use]
    pub fn in_module(file: &Path, module: &str, below: &Path) -> Option<Self> {
        if file.extension().is_none_or(|extension| extension != "pp") {
            return None;
        }
        let mut parts = vec![module.to_lowercase()];
        parts.extend(lower_parts(below)?);
        Some(Self {
            file: file.display().to_string(),
            namespace: Some(namespace(&parts)?),
        })
    }
}

fn lower_parts(path: &Path) -> Option<Vec<String>> {
    path.components()
        .map(|part| match part {
            Component::Normal(part) => part.to_str().map(str::to_lowercase),
            _ => None,
        })
        .collect()
}

/// The namespace: `mod/manifests/a/b.pp` is for `mod::a::b`, `mod/manifests/init.pp` for `mod`.
fn namespace(parts: &[String]) -> Option<String> {
    let [module, kind, path @ .., file] = parts else {
        return None;
    };
    if !matches!(&**kind, "manifests" | "functions" | "types" | "plans") {
        return None;
    }
    let mut names: Vec<&str> = vec![module];
    names.extend(path.iter().map(String::as_str));
    if !(path.is_empty() && file == "init.pp") {
        names.push(file.strip_suffix(".pp").unwrap_or(file));
    }
    Some(names.join("::"))
}

impl AstValidator<'_> {
    pub(super) fn in_its_file(&mut self, span: SourceSpan, name: &str) {
        let Some(location) = self.location else {
            return;
        };
        let fits = location
            .namespace
            .as_ref()
            .is_some_and(|namespace| name.to_lowercase().starts_with(&**namespace));
        if !fits {
            let message = format!(
                "Unacceptable location. The name '{name}' is unacceptable in file '{}'",
                location.file
            );
            self.error("ILLEGAL_DEFINITION_LOCATION", span, message);
        }
    }

    /// Files of modules contain definitions only, and neither nodes nor sites.
    pub(super) fn top_constructs(&mut self) {
        if self.location.is_none() {
            return;
        }
        for id in self.ast.statements(self.ast.body()) {
            let definition = self.ast.as_definition(id);
            if definition.is_some_and(|one| {
                !matches!(one.kind, DefinitionKind::Node(_) | DefinitionKind::Site(_))
            }) {
                continue;
            }
            if matches!(self.ast.expr(id), Expr::Nop) {
                continue;
            }
            let message = format!(
                "This {} is unacceptable as a top level construct in this location",
                self.ast.label(id)
            );
            self.error("ILLEGAL_TOP_CONSTRUCT_LOCATION", self.ast.span(id), message);
        }
    }
}
