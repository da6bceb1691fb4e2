//! Checks task metadata as the server does. Main function: [`find_mistakes`].

use environments::TaskMetadata;
use pcore::Type;
use syntax::{Diagnostic, SourceSpan};

use super::position::{offset, rest_of_line};

const CODE: &str = "INVALID_TASK";

/// Mistakes in the metadata, and unknown keys.
pub(super) fn find_mistakes(text: &str) -> Vec<Diagnostic> {
    match TaskMetadata::parse(text.as_bytes(), &accept_module_type) {
        Ok(metadata) => {
            let unknown = metadata.unknown_keys.iter().map(|path| {
                let message = format!("`{path}` is an unknown key of task metadata and is ignored");
                Diagnostic::warning(CODE, locate_key(text, path), message)
            });
            unknown.collect()
        }
        Err(error) => {
            let place = match (error.path(), error.position()) {
                (Some(path), _) => locate_key(text, path),
                (None, Some((line, column))) => rest_of_line(text, line, column),
                (None, None) => rest_of_line(text, 1, 1),
            };
            vec![Diagnostic::error(CODE, place, error.to_string())]
        }
    }
}

/// Accepts any name with `::`: it may be a type alias of a module that is not available here.
fn accept_module_type(name: &str) -> Option<Type> {
    name.contains("::").then(Type::any)
}

/// The range of the key at a JSON path such as `parameters.name.type` or `implementations[0].name`,
/// found by searching for its keys one after another. The first line if they are not found.
fn locate_key(text: &str, path: &str) -> SourceSpan {
    let keys = path
        .split('.')
        .map(|key| key.split('[').next().unwrap_or(key));
    let mut found = None;
    let mut from = 0;
    for key in keys {
        let quoted = format!("\"{key}\"");
        let Some(at) = text[from..].find(&quoted) else {
            break;
        };
        let begin = from + at;
        found = Some((begin, begin + quoted.len()));
        from = begin + quoted.len();
    }
    match found {
        Some((begin, end)) => SourceSpan::new(offset(begin), offset(end)),
        None => rest_of_line(text, 1, 1),
    }
}
