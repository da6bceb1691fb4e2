//! A task's metadata file, `<task>.json`.
//!
//! [`TaskMetadata::parse`] reads it strictly: a wrong type is an error that names its JSON path. The
//! rule: keys that nobody knows are no error, since modules are written for many tools, but are
//! listed, so that a misspelt one is seen.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Implementation, ParamType};
use crate::action::RunMetadata;
use crate::defaults::MAX_METADATA_BYTES;
use crate::json;

/// What a task's author wrote about it. Serialises back into the form of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskMetadata {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Of the metadata format; only 1 exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub puppet_task_version: Option<i64>,
    /// Whether it understands `_noop`.
    pub supports_noop: bool,
    /// Hidden in lists.
    pub private: bool,
    /// It runs on a proxy for a remote target.
    pub remote: bool,
    /// `stdin`, `environment`, `both` or `powershell`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_method: Option<String>,
    /// In the file's order. `None`: the author did not say, so anything goes; empty: it takes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<IndexMap<String, ParameterMetadata>>,
    /// In order of preference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implementations: Vec<Implementation>,
    /// Supporting files, `module/files/…` or `module/lib/…`; a final `/` stands for all below.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// For other tools.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
    /// JSON paths of the keys that are not known here.
    #[serde(skip)]
    pub unknown_keys: Vec<String>,
}

/// What the author wrote about one parameter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ParameterMetadata {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `Any` when absent.
    #[serde(rename = "type")]
    pub param_type: ParamType,
    /// Not to be stored or shown: `sensitive: true`, or a `Sensitive[…]` type.
    pub sensitive: bool,
    /// Used when the parameter is not given. `null` counts as a default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// Why a file is no task metadata.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// Beyond any use.
    #[error("the metadata has {0} bytes; the limit is {MAX_METADATA_BYTES}")]
    TooLarge(usize),
    /// Not UTF-8.
    #[error("the metadata is not UTF-8 (at byte {0})")]
    NotUtf8(usize),
    /// Not JSON, or a key stands twice.
    #[error("the metadata cannot be used: {reason}")]
    Json {
        /// The mistake, with its place.
        reason: String,
        /// Line and column, from 1.
        position: Option<(usize, usize)>,
    },
    /// A value has the wrong type.
    #[error("{path} must be {expected}, not {found}")]
    WrongType {
        /// From the top, e.g. `parameters.name.type`.
        path: String,
        /// With its article.
        expected: &'static str,
        /// With its article.
        found: &'static str,
    },
    /// A value has the right type but makes no sense.
    #[error("{path}: {problem}")]
    Invalid {
        /// From the top.
        path: String,
        /// What is wrong.
        problem: String,
    },
}

// === impl MetadataError ===

impl MetadataError {
    /// The JSON path of the value that is wrong, from the top; `None` where the text is no JSON.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::WrongType { path, .. } | Self::Invalid { path, .. } => Some(path),
            Self::TooLarge(_) | Self::NotUtf8(_) | Self::Json { .. } => None,
        }
    }

    /// Line and column of a text that is no JSON, from 1.
    pub fn position(&self) -> Option<(usize, usize)> {
        match self {
            Self::Json { position, .. } => *position,
            _ => None,
        }
    }
}

// === impl TaskMetadata ===

impl TaskMetadata {
    /// Reads the file's content.
    pub fn parse(content: &[u8]) -> Result<Self, MetadataError> {
        if content.len() > MAX_METADATA_BYTES {
            return Err(MetadataError::TooLarge(content.len()));
        }
        let text = std::str::from_utf8(content)
            .map_err(|error| MetadataError::NotUtf8(error.valid_up_to()))?;
        let value =
            json::strict(text.strip_prefix('\u{feff}').unwrap_or(text)).map_err(|error| {
                MetadataError::Json {
                    reason: json::reason(&error),
                    position: (error.line() > 0).then(|| (error.line(), error.column())),
                }
            })?;
        let top = object("the metadata", value)?;
        let mut unknown_keys = Vec::new();
        let mut metadata = Self::default();
        for (key, value) in top {
            metadata.set(&key, value, &mut unknown_keys)?;
        }
        metadata.unknown_keys = unknown_keys;
        Ok(metadata)
    }

    /// Whether the parameter must not be stored or shown.
    pub fn is_sensitive(&self, parameter: &str) -> bool {
        let known = self.parameters.as_ref().and_then(|all| all.get(parameter));
        known.is_some_and(|parameter| parameter.sensitive)
    }

    /// The part that an agent needs, for a node with these extra features.
    pub fn for_agent(&self, features: Vec<String>) -> RunMetadata {
        RunMetadata {
            input_method: self.input_method.clone(),
            implementations: self.implementations.clone(),
            files: self.files.clone(),
            features,
        }
    }

    fn set(
        &mut self,
        key: &str,
        value: Value,
        unknown: &mut Vec<String>,
    ) -> Result<(), MetadataError> {
        match key {
            "description" => self.description = Some(string(key, value)?),
            "puppet_task_version" => self.puppet_task_version = Some(version(value)?),
            "supports_noop" => self.supports_noop = boolean(key, &value)?,
            "private" => self.private = boolean(key, &value)?,
            "remote" => self.remote = boolean(key, &value)?,
            "input_method" => self.input_method = Some(input_method(key, value)?),
            "parameters" => self.parameters = Some(parameters(value, unknown)?),
            "implementations" => self.implementations = implementations(value, unknown)?,
            "files" => self.files = strings(key, value)?,
            "extensions" => self.extensions = object(key, value)?,
            other => unknown.push(other.to_owned()),
        }
        Ok(())
    }
}

fn parameters(
    value: Value,
    unknown: &mut Vec<String>,
) -> Result<IndexMap<String, ParameterMetadata>, MetadataError> {
    object("parameters", value)?
        .into_iter()
        .map(|(name, value)| {
            let parameter = parameter(&name, value, unknown)?;
            Ok((name, parameter))
        })
        .collect()
}

fn parameter(
    name: &str,
    value: Value,
    unknown: &mut Vec<String>,
) -> Result<ParameterMetadata, MetadataError> {
    let path = format!("parameters.{name}");
    if !is_parameter_name(name) {
        let problem = "a parameter's name begins with a lower-case letter and continues with \
                       lower-case letters, digits and underscores";
        return Err(MetadataError::Invalid {
            path,
            problem: problem.to_owned(),
        });
    }
    let mut parameter = ParameterMetadata::default();
    let mut declared_sensitive = false;
    for (key, value) in object(&path, value)? {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "description" => parameter.description = Some(string(&path, value)?),
            "type" => {
                let text = string(&path, value)?;
                parameter.param_type =
                    text.parse()
                        .map_err(|error: super::TypeError| MetadataError::Invalid {
                            path,
                            problem: error.to_string(),
                        })?;
            }
            "sensitive" => declared_sensitive = boolean(&path, &value)?,
            "default" => parameter.default = Some(value),
            _ => unknown.push(path),
        }
    }
    parameter.sensitive = declared_sensitive || parameter.param_type.is_sensitive();
    if let Some(default) = &parameter.default {
        parameter
            .param_type
            .validate(default)
            .map_err(|mismatch| MetadataError::Invalid {
                path: format!("{path}.default"),
                problem: mismatch.to_string(),
            })?;
    }
    Ok(parameter)
}

/// Puppet's rule for the parameters of tasks.
fn is_parameter_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn implementations(
    value: Value,
    unknown: &mut Vec<String>,
) -> Result<Vec<Implementation>, MetadataError> {
    let mut all = Vec::new();
    for (index, value) in array("implementations", value)?.into_iter().enumerate() {
        let path = format!("implementations[{index}]");
        let (mut name, mut requirements) = (None, Vec::new());
        let (mut files, mut method) = (Vec::new(), None);
        for (key, value) in object(&path, value)? {
            let path = format!("{path}.{key}");
            match key.as_str() {
                "name" => name = Some(string(&path, value)?),
                "requirements" => requirements = strings(&path, value)?,
                "files" => files = strings(&path, value)?,
                "input_method" => method = Some(input_method(&path, value)?),
                _ => unknown.push(path),
            }
        }
        let name = name.ok_or_else(|| MetadataError::Invalid {
            path,
            problem: "an implementation needs a name, the name of its file".to_owned(),
        })?;
        all.push(Implementation {
            name,
            requirements,
            files,
            input_method: method,
        });
    }
    Ok(all)
}

fn version(value: Value) -> Result<i64, MetadataError> {
    let path = "puppet_task_version";
    let found = json::kind(&value);
    let wrong = || wrong(path, "an integer", found);
    match value.as_i64().ok_or_else(wrong)? {
        1 => Ok(1),
        other => Err(MetadataError::Invalid {
            path: path.to_owned(),
            problem: format!("version {other} is not known; 1 is"),
        }),
    }
}

fn input_method(path: &str, value: Value) -> Result<String, MetadataError> {
    let text = string(path, value)?;
    if matches!(
        text.as_str(),
        "stdin" | "environment" | "both" | "powershell"
    ) {
        return Ok(text);
    }
    Err(MetadataError::Invalid {
        path: path.to_owned(),
        problem: "must be stdin, environment, both or powershell".to_owned(),
    })
}

fn string(path: &str, value: Value) -> Result<String, MetadataError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong(path, "a string", json::kind(&other))),
    }
}

fn boolean(path: &str, value: &Value) -> Result<bool, MetadataError> {
    value
        .as_bool()
        .ok_or_else(|| wrong(path, "a boolean", json::kind(value)))
}

fn array(path: &str, value: Value) -> Result<Vec<Value>, MetadataError> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(wrong(path, "an array", json::kind(&other))),
    }
}

fn strings(path: &str, value: Value) -> Result<Vec<String>, MetadataError> {
    let items = array(path, value)?.into_iter().enumerate();
    items
        .map(|(index, item)| string(&format!("{path}[{index}]"), item))
        .collect()
}

fn object(path: &str, value: Value) -> Result<Map<String, Value>, MetadataError> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(wrong(path, "an object", json::kind(&other))),
    }
}

fn wrong(path: &str, expected: &'static str, found: &'static str) -> MetadataError {
    MetadataError::WrongType {
        path: path.to_owned(),
        expected,
        found,
    }
}
