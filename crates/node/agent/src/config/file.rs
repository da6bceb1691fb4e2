//! Reader of `pxp-agent.conf`.
//!
//! [`read`] turns a file into [`AgentSettings`]. Invariants: an unknown key is reported and skipped
//! (files are shared between versions), a known key of the wrong type stops the start and is named.
//! A quoted number or boolean is accepted as one, as in pxp-agent.

use std::path::Path;

use decode_errors::DecodeError;
use serde_json::{Map, Value};

use super::error::AgentConfigError;
use super::settings::AgentSettings;

/// Content of a configuration file.
#[derive(Debug, Default)]
pub struct FileSettings {
    /// Values of the known options.
    pub settings: AgentSettings,
    /// Keys that are not options of the agent.
    pub unknown_keys: Vec<String>,
}

/// Reads `path`. A missing file counts as empty unless it was `named` by the user.
pub fn read(path: &Path, named: bool) -> Result<FileSettings, AgentConfigError> {
    let is_json = match path.extension().and_then(|e| e.to_str()) {
        Some("conf") => false,
        Some("json") => true,
        _ => return Err(AgentConfigError::Suffix(path.to_owned())),
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => {
            return Ok(FileSettings::default());
        }
        Err(source) => {
            return Err(AgentConfigError::Unreadable {
                path: path.to_owned(),
                source,
            });
        }
    };
    settings_of(document(path, &text, is_json)?, path, &text)
}

fn document(
    path: &Path,
    text: &str,
    is_json: bool,
) -> Result<Map<String, Value>, AgentConfigError> {
    let syntax = |reason: String| AgentConfigError::Syntax {
        path: path.to_owned(),
        reason,
    };
    let value: Value = if is_json {
        decode_errors::json::from_str(text).map_err(|e| syntax(e.to_string()))?
    } else {
        hocon::parse(text).map_err(|e| syntax(e.to_string()))?
    };
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(syntax("the top level must be an object".to_owned())),
    }
}

fn settings_of(
    map: Map<String, Value>,
    path: &Path,
    text: &str,
) -> Result<FileSettings, AgentConfigError> {
    let known = known_keys();
    let mut unknown_keys = Vec::new();
    let mut accepted = Map::new();
    for (key, value) in map {
        if !known.contains(&key) {
            unknown_keys.push(key);
            continue;
        }
        let unquoted = unquoted(&value);
        let settings = single(&key, value)
            .or_else(|error| {
                let settings = unquoted.map(|value| single(&key, value));
                settings.and_then(Result::ok).ok_or(error)
            })
            .map_err(|error| AgentConfigError::Type {
                option: key.clone(),
                place: place(path, text, &key),
                reason: error.problem(),
            })?;
        accepted.extend(settings.to_set_options());
    }
    let settings =
        serde_json::from_value(Value::Object(accepted)).expect("every key was accepted on its own");
    Ok(FileSettings {
        settings,
        unknown_keys,
    })
}

/// Parses the settings of one key, so that an error can name it.
fn single(key: &str, value: Value) -> Result<AgentSettings, DecodeError> {
    let single = Map::from_iter([(key.to_owned(), value)]);
    decode_errors::json::from_value(Value::Object(single))
}

/// The number or boolean that a text stands for, by the rules of HOCON.
fn unquoted(value: &Value) -> Option<Value> {
    match value.as_str()? {
        "true" | "yes" | "on" => Some(Value::Bool(true)),
        "false" | "no" | "off" => Some(Value::Bool(false)),
        text => text.trim().parse::<i64>().ok().map(Value::from),
    }
}

/// The names of all options: the fields of [`AgentSettings`].
fn known_keys() -> Vec<String> {
    match serde_json::to_value(AgentSettings::default()) {
        Ok(Value::Object(map)) => map.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}

/// The file and, if it can be determined, the line in which `key` is set.
fn place(path: &Path, text: &str, key: &str) -> String {
    let sets_key = |line: &str| {
        let rest = line.trim_start().trim_start_matches(['{', '"', ' ']);
        rest.strip_prefix(key)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-'))
    };
    match text.lines().position(sets_key) {
        Some(index) => format!("{}:{}", path.display(), index + 1),
        None => path.display().to_string(),
    }
}
