//! The applications of an environment's manifests, with their parameters: [`ApplicationDefinition`].

use std::sync::Arc;

use evaluator::{CodeReadError, manifest_error};
use pcore::REDACTED;
use syntax::ast::{Ast, DefinitionKind, Param};
use syntax::{SourceText, SyntaxOptions};

use super::EnvironmentFiles;
use super::manifest_classes::ManifestFile;

/// An application that a manifest defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationDefinition {
    /// Name in small letters: `lamp`, `foo::bar`.
    pub name: String,
    /// Path of the manifest.
    pub file: String,
    pub line: u32,
    /// Names of the parameters with the text of their defaults; `None` for one without a default. A default that
    /// could be a secret is [`REDACTED`].
    pub parameters: Vec<(String, Option<String>)>,
}

impl EnvironmentFiles {
    /// The applications of all manifests, by name. Manifests that cannot be parsed are left out: a graph
    /// names their errors. Blocks on the disk.
    pub(crate) fn applications(&self) -> Result<Vec<ApplicationDefinition>, CodeReadError> {
        let mut found = Vec::new();
        if !self.environment.has_applications() {
            return Ok(found);
        }
        for manifest in self.manifests()? {
            found.extend(self.applications_of(&manifest));
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn applications_of(&self, manifest: &ManifestFile) -> Vec<ApplicationDefinition> {
        let file = manifest.path.to_string_lossy();
        let Ok(text) = self.read_text(&manifest.path) else {
            return Vec::new();
        };
        let source = Arc::new(SourceText::new(Some(&file), text));
        let options = SyntaxOptions {
            applications: true,
            ..SyntaxOptions::default()
        };
        let parsed = syntax::parse_at(&source, options, manifest.location.as_ref());
        if manifest_error(&source, &parsed).is_some() {
            return Vec::new();
        }
        let ast = &parsed.ast;
        let definitions = ast.definitions().iter();
        definitions
            .filter_map(|definition| match definition.kind {
                DefinitionKind::Application(body) => Some(ApplicationDefinition {
                    name: ast.text(body.name).to_lowercase(),
                    file: file.to_string(),
                    line: source.line(definition.span.start),
                    parameters: parameters(ast, ast.get(body.params)),
                }),
                _ => None,
            })
            .collect()
    }
}

fn parameters(ast: &Ast, params: &[Param]) -> Vec<(String, Option<String>)> {
    let parameters = params.iter().map(|param| {
        let default = param.default.map(|_| default_text(ast, param));
        (ast.text(param.name).to_string(), default.map(str::to_owned))
    });
    parameters.collect()
}

/// The text of a default. The listing has no values, so a word that makes a value sensitive hides all of it.
fn default_text<'a>(ast: &'a Ast, param: &Param) -> &'a str {
    let default = ast.source().slice(param.default_text);
    let names_sensitive = |text: &str| text.contains("Sensitive");
    match names_sensitive(ast.source().slice(param.type_text)) || names_sensitive(default) {
        true => REDACTED,
        false => default,
    }
}
