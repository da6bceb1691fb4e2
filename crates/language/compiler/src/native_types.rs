//! Native resource types of an environment: [`load`].
//!
//! Invariant: a type is read without running Ruby if that is certain, else once by Ruby; without
//! Ruby it is an error with the place in its file and the remedy.

use std::sync::Arc;

use evaluator::{CodeOwner, CodeSource, EvalResult, raise};
use resource_types::{ResourceType, RubyLibrary, StaticReading};

use crate::environment::CompilerEnvironment;
use crate::interrupt::CompileInterrupt;

/// Loads a type by its name in lower case. Types that `puppet generate types` wrote come first,
/// then those of Puppet, then those that modules define in Ruby. `interrupt` ends what Ruby reads.
pub(crate) fn load(
    environment: &CompilerEnvironment,
    name: &str,
    interrupt: Option<&Arc<CompileInterrupt>>,
) -> EvalResult<Option<Arc<ResourceType>>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Ok(None);
    }
    let generated = format!(".resource_types/{name}.pp");
    match CodeSource::read(environment, CodeOwner::Environment, &generated) {
        Ok(Some(file)) => {
            let text = String::from_utf8_lossy(&file.bytes);
            let source = Arc::new(syntax::SourceText::new(Some(&file.path), &*text));
            return match resource_types::read_generated_type(&source) {
                Ok(ty) => Ok(Some(Arc::new(ty))),
                Err(error) => raise(error.to_string()),
            };
        }
        Ok(None) => {}
        Err(error) => return raise(error.to_string()),
    }
    if let Some(ty) = resource_types::core_type(name) {
        return Ok(Some(Arc::clone(ty)));
    }
    from_ruby(environment, name, interrupt)
}

fn from_ruby(
    environment: &CompilerEnvironment,
    name: &str,
    interrupt: Option<&Arc<CompileInterrupt>>,
) -> EvalResult<Option<Arc<ResourceType>>> {
    let feature = format!("puppet/type/{name}");
    let Some(text) = RubyLibrary::read(environment, &feature) else {
        return Ok(None);
    };
    match resource_types::read_ruby_type(name, &text, environment) {
        StaticReading::Complete(ty) => Ok(Some(Arc::new(ty))),
        StaticReading::NeedsRuby { reason, line } => match &environment.settings.ruby {
            Some(ruby) => match ruby.resource_type(name, interrupt) {
                Ok(found) => {
                    // Puppet 7 and later drop the option when they load the file
                    let found = found.map(|ty| match has_capability_option(&text) {
                        true => ty.into_capability(),
                        false => ty,
                    });
                    Ok(found.map(Arc::new))
                }
                Err(error) => raise(format!(
                    "the resource type '{name}' cannot be read: {error}"
                )),
            },
            None => raise(format!(
                "the resource type '{name}' cannot be read without Ruby: {reason} (line {line} of lib/{feature}.rb); run `puppet generate types` for the environment"
            )),
        },
    }
}

/// True if the text of a type file has the option `is_capability`.
fn has_capability_option(text: &str) -> bool {
    let mut options = text.match_indices("is_capability");
    options.any(|(at, word)| {
        let rest = text[at + word.len()..].trim_start_matches([' ', ':', '=', '>']);
        rest.starts_with("true")
    })
}

impl RubyLibrary for CompilerEnvironment {
    fn read(&self, feature: &str) -> Option<String> {
        let path = format!("lib/{feature}.rb");
        let modules = CodeSource::modules(self);
        modules
            .iter()
            .find_map(|module| {
                let file = CodeSource::read(self, CodeOwner::Module(module), &path);
                file.ok().flatten()
            })
            .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
    }

    fn provider_features(&self, type_name: &str) -> Vec<String> {
        let mut features = Vec::new();
        for module in CodeSource::modules(self) {
            let Some(root) = self.code.as_files().module_root(&module) else {
                continue;
            };
            let feature = format!("puppet/provider/{type_name}");
            let directory = root.join("lib").join(&feature);
            let entries = self.code.as_files().entries(&directory);
            let files = entries.iter().filter(|entry| !entry.is_directory);
            let stems = files.filter_map(|entry| entry.name.strip_suffix(".rb"));
            features.extend(stems.map(|stem| format!("{feature}/{stem}")));
        }
        features
    }
}
