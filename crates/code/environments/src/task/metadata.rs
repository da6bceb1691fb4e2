//! A task's metadata file, `<task>.json`: [`TaskMetadata`].
//!
//! [`TaskMetadata::parse`] reads it strictly: a wrong type is an error that names its JSON path.
//! Unknown keys are no error, because modules are written for many tools, but they are listed, so
//! that a misspelt key is noticed.

use indexmap::IndexMap;
use pcore::TypeLookup;
use pxp::action::RunMetadata;
use pxp::json;
use pxp::task::TaskImplementation;
use serde::Serialize;
use serde_json::{Map, Value};

use super::ParameterType;
use crate::defaults::METADATA_BYTES;

/// The metadata of a task. It serialises into the form of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskMetadata {
    /// Free text that is shown in lists of tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Version of the metadata format; only 1 exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub puppet_task_version: Option<i64>,
    /// True if the task supports `_noop`.
    pub supports_noop: bool,
    /// True if lists of tasks hide the task.
    pub private: bool,
    /// True if the task runs on a proxy for a remote target.
    pub remote: bool,
    /// Input method: `stdin`, `environment_name`, `both` or `powershell`; `None` if the file names
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_method: Option<String>,
    /// Parameters in the order of the file. `None` if the file has no such section: any parameter
    /// is accepted. Empty if the task takes no parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<IndexMap<String, ParameterMetadata>>,
    /// The executable files with their requirements, in order of preference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implementations: Vec<TaskImplementation>,
    /// Supporting files, `module/files/…` or `module/lib/…`; a final `/` names a whole directory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Settings of other tools, such as discovery tasks.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
    /// JSON paths of unknown keys.
    #[serde(skip)]
    pub unknown_keys: Vec<String>,
}

/// The metadata of one parameter.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ParameterMetadata {
    /// Free text that `task show` prints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The parameter's type; `Any` if the file gives none.
    #[serde(rename = "type")]
    pub parameter_type: ParameterType,
    /// True if values are neither stored nor shown in clear: `sensitive: true`, or a `Sensitive[…]`
    /// type.
    pub sensitive: bool,
    /// The value used if the parameter is omitted. `null` is a default too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// A file that is not valid task metadata.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// The size of the file in bytes.
    #[error("the metadata has {0} bytes; the limit is {METADATA_BYTES}")]
    TooLarge(usize),
    /// The offset of the first byte that is not UTF-8.
    #[error("the metadata is not UTF-8 (at byte {0})")]
    NotUtf8(usize),
    /// The text is not JSON, or has a key twice.
    #[error("the metadata cannot be used: {reason}")]
    Json {
        /// The error with line and column.
        reason: String,
        /// Line and column, counted from 1.
        position: Option<(usize, usize)>,
    },
    /// A value has the wrong type.
    #[error("{path} must be {expected}, not {found}")]
    WrongType {
        /// JSON path from the top, such as `parameters.name.type`.
        path: String,
        /// The expected JSON type with its article.
        expected: &'static str,
        /// The actual JSON type with its article.
        found: &'static str,
    },
    /// A value has the right type but is invalid.
    #[error("{path}: {problem}")]
    Invalid {
        /// JSON path from the top.
        path: String,
        /// A sentence about the value.
        problem: String,
    },
}

// === impl MetadataError ===

impl MetadataError {
    /// The JSON path of the wrong value, from the top; `None` if the text is not JSON.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::WrongType { path, .. } | Self::Invalid { path, .. } => Some(path),
            Self::TooLarge(_) | Self::NotUtf8(_) | Self::Json { .. } => None,
        }
    }

    /// Line and column of the error in a text that is not JSON, counted from 1.
    pub fn position(&self) -> Option<(usize, usize)> {
        match self {
            Self::Json { position, .. } => *position,
            _ => None,
        }
    }
}

// === impl TaskMetadata ===

impl TaskMetadata {
    /// Reads the content of a metadata file. `lookup` finds type aliases of the environment.
    pub fn parse(content: &[u8], lookup: TypeLookup<'_>) -> Result<Self, MetadataError> {
        if content.len() as u64 > METADATA_BYTES {
            return Err(MetadataError::TooLarge(content.len()));
        }
        let text = std::str::from_utf8(content)
            .map_err(|error| MetadataError::NotUtf8(error.valid_up_to()))?;
        let value =
            json::parse_strict(text.strip_prefix('\u{feff}').unwrap_or(text)).map_err(|error| {
                MetadataError::Json {
                    reason: json::error_reason(&error),
                    position: (error.line() > 0).then(|| (error.line(), error.column())),
                }
            })?;
        let top = expect_object("the metadata", value)?;
        let mut reading = MetadataReader {
            lookup,
            unknown_keys: Vec::new(),
        };
        let mut metadata = Self::default();
        for (key, value) in top {
            metadata.set(&key, value, &mut reading)?;
        }
        metadata.unknown_keys = reading.unknown_keys;
        Ok(metadata)
    }

    /// True if values of this parameter are neither stored nor shown in clear.
    pub fn is_sensitive(&self, parameter: &str) -> bool {
        let known = self.parameters.as_ref().and_then(|all| all.get(parameter));
        known.is_some_and(|parameter| parameter.sensitive)
    }

    /// The part of the metadata that an agent needs. `features` are those that the node has
    /// beyond the features that the agent detects.
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
        reading: &mut MetadataReader<'_>,
    ) -> Result<(), MetadataError> {
        match key {
            "description" => self.description = Some(expect_string(key, value)?),
            "puppet_task_version" => self.puppet_task_version = Some(parse_version(value)?),
            "supports_noop" => self.supports_noop = expect_boolean(key, &value)?,
            "private" => self.private = expect_boolean(key, &value)?,
            "remote" => self.remote = expect_boolean(key, &value)?,
            "input_method" => self.input_method = Some(parse_input_method(key, value)?),
            "parameters" => self.parameters = Some(parse_parameters(value, reading)?),
            "implementations" => {
                self.implementations = parse_implementations(value, &mut reading.unknown_keys)?
            }
            "files" => self.files = expect_strings(key, value)?,
            "extensions" => self.extensions = expect_object(key, value)?,
            other => reading.unknown_keys.push(other.to_owned()),
        }
        Ok(())
    }
}

/// The state of reading one file.
struct MetadataReader<'a> {
    lookup: TypeLookup<'a>,
    unknown_keys: Vec<String>,
}

fn parse_parameters(
    value: Value,
    reading: &mut MetadataReader<'_>,
) -> Result<IndexMap<String, ParameterMetadata>, MetadataError> {
    expect_object("parameters", value)?
        .into_iter()
        .map(|(name, value)| {
            let parameter = parse_parameter(&name, value, reading)?;
            Ok((name, parameter))
        })
        .collect()
}

fn parse_parameter(
    name: &str,
    value: Value,
    reading: &mut MetadataReader<'_>,
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
    for (key, value) in expect_object(&path, value)? {
        let path = format!("{path}.{key}");
        match key.as_str() {
            "description" => parameter.description = Some(expect_string(&path, value)?),
            "type" => {
                let text = expect_string(&path, value)?;
                parameter.parameter_type =
                    ParameterType::parse(&text, reading.lookup).map_err(|error| {
                        MetadataError::Invalid {
                            path,
                            problem: error.to_string(),
                        }
                    })?;
            }
            "sensitive" => declared_sensitive = expect_boolean(&path, &value)?,
            "default" => parameter.default = Some(value),
            _ => reading.unknown_keys.push(path),
        }
    }
    parameter.sensitive = declared_sensitive || parameter.parameter_type.is_sensitive();
    if let Some(default) = &parameter.default {
        parameter
            .parameter_type
            .check(name, default)
            .map_err(|problem| MetadataError::Invalid {
                path: format!("{path}.default"),
                problem,
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

fn parse_implementations(
    value: Value,
    unknown: &mut Vec<String>,
) -> Result<Vec<TaskImplementation>, MetadataError> {
    let mut all = Vec::new();
    for (index, value) in expect_array("implementations", value)?
        .into_iter()
        .enumerate()
    {
        let path = format!("implementations[{index}]");
        let (mut name, mut requirements) = (None, Vec::new());
        let (mut files, mut method) = (Vec::new(), None);
        for (key, value) in expect_object(&path, value)? {
            let path = format!("{path}.{key}");
            match key.as_str() {
                "name" => name = Some(expect_string(&path, value)?),
                "requirements" => requirements = expect_strings(&path, value)?,
                "files" => files = expect_strings(&path, value)?,
                "input_method" => method = Some(parse_input_method(&path, value)?),
                _ => unknown.push(path),
            }
        }
        let name = name.ok_or_else(|| MetadataError::Invalid {
            path,
            problem: "an implementation needs a name, the name of its file".to_owned(),
        })?;
        all.push(TaskImplementation {
            name,
            requirements,
            files,
            input_method: method,
        });
    }
    Ok(all)
}

fn parse_version(value: Value) -> Result<i64, MetadataError> {
    let path = "puppet_task_version";
    let found = json::kind_name(&value);
    let wrong = || wrong_type(path, "an integer", found);
    match value.as_i64().ok_or_else(wrong)? {
        1 => Ok(1),
        other => Err(MetadataError::Invalid {
            path: path.to_owned(),
            problem: format!("version {other} is not known; 1 is"),
        }),
    }
}

fn parse_input_method(path: &str, value: Value) -> Result<String, MetadataError> {
    let text = expect_string(path, value)?;
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

fn expect_string(path: &str, value: Value) -> Result<String, MetadataError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong_type(path, "a string", json::kind_name(&other))),
    }
}

fn expect_boolean(path: &str, value: &Value) -> Result<bool, MetadataError> {
    value
        .as_bool()
        .ok_or_else(|| wrong_type(path, "a boolean", json::kind_name(value)))
}

fn expect_array(path: &str, value: Value) -> Result<Vec<Value>, MetadataError> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(wrong_type(path, "an array", json::kind_name(&other))),
    }
}

fn expect_strings(path: &str, value: Value) -> Result<Vec<String>, MetadataError> {
    let items = expect_array(path, value)?.into_iter().enumerate();
    items
        .map(|(index, item)| expect_string(&format!("{path}[{index}]"), item))
        .collect()
}

fn expect_object(path: &str, value: Value) -> Result<Map<String, Value>, MetadataError> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(wrong_type(path, "an object", json::kind_name(&other))),
    }
}

fn wrong_type(path: &str, expected: &'static str, found: &'static str) -> MetadataError {
    MetadataError::WrongType {
        path: path.to_owned(),
        expected,
        found,
    }
}
