//! Data files as values: [`DataFileCache`].
//!
//! Invariant: a file is read and parsed once, until its identity changes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pcore::{Binary, FastHashMap, Hash, Value};
use psych::{YamlLoadOptions, YamlTreeNode};

use crate::defaults::CACHED_FILES;
use crate::{Error, FileIdentity, LookupHost};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DataFormat {
    Yaml,
    Json,
    Hocon,
}

/// Parsed files, shared by all sessions of a process.
#[derive(Debug, Default)]
pub struct DataFileCache {
    files: Mutex<FastHashMap<(PathBuf, DataFormat), CachedDataFile>>,
}

#[derive(Debug, Clone)]
struct CachedDataFile {
    identity: FileIdentity,
    data: Value,
}

impl DataFileCache {
    /// The data of a file; `Undef` if it is empty.
    pub(crate) fn load(
        &self,
        host: &mut dyn LookupHost,
        path: &Path,
        format: DataFormat,
    ) -> Result<Value, Error> {
        let key = (path.to_owned(), format);
        let identity = host.identity(path);
        if let (Some(identity), Some(held)) = (identity, self.lock().get(&key))
            && held.identity == identity
        {
            return Ok(held.data.clone());
        }
        let text = host.read(path)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let parsed = match format {
            DataFormat::Yaml => load_yaml(host, path, text),
            DataFormat::Json => json_value(text),
            DataFormat::Hocon => hocon::parse(text)
                .map(from_json)
                .map_err(|error| error.to_string()),
        };
        let data = parsed
            .map_err(|what| Error::data(format!("Unable to parse ({}): {what}", path.display())))?;
        if let Some(identity) = identity {
            let mut held = self.lock();
            if held.len() >= CACHED_FILES {
                held.clear();
            }
            let data = data.clone();
            held.insert(key, CachedDataFile { identity, data });
        }
        Ok(data)
    }

    fn lock(
        &self,
    ) -> std::sync::MutexGuard<'_, FastHashMap<(PathBuf, DataFormat), CachedDataFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses a YAML text with the options of data files.
pub fn yaml_value(text: &str) -> Result<Value, String> {
    let document = psych::load(text, YamlLoadOptions::HIERA).map_err(|error| error.to_string())?;
    Ok(document.root.as_ref().map(from_yaml).unwrap_or_default())
}

/// Parses a JSON text to a value of data.
pub fn json_value(text: &str) -> Result<Value, String> {
    let json = decode_errors::json::from_str(text);
    json.map(from_json).map_err(|error| error.to_string())
}

fn load_yaml(host: &mut dyn LookupHost, path: &Path, text: &str) -> Result<Value, String> {
    let document = psych::load(text, YamlLoadOptions::HIERA).map_err(|error| error.to_string())?;
    for warning in &document.warnings {
        host.warn(&format!(
            "{}:{}: the key '{}' is already set in line {}; this one counts",
            path.display(),
            warning.line,
            warning.key,
            warning.first_line
        ));
    }
    Ok(document.root.as_ref().map(from_yaml).unwrap_or_default())
}

/// Converts a YAML node. As in Puppet, a symbol that is a key becomes a text without the colon; any
/// other symbol keeps it.
fn from_yaml(node: &YamlTreeNode) -> Value {
    match &node.value {
        psych::YamlValue::Null => Value::Undef,
        psych::YamlValue::Bool(flag) => Value::Bool(*flag),
        psych::YamlValue::Integer(number) => Value::Int(*number),
        psych::YamlValue::Float(number) => Value::Float(*number),
        psych::YamlValue::BigInteger(text) | psych::YamlValue::String(text) => {
            Value::Str(text.clone())
        }
        psych::YamlValue::Symbol(text) => Value::from(format!(":{text}")),
        psych::YamlValue::Binary(bytes) => Value::Binary(Binary::new(bytes.clone())),
        // Refused while the text was read.
        psych::YamlValue::Date(_) | psych::YamlValue::Time(_) => Value::Undef,
        psych::YamlValue::Sequence(items) => Value::array(items.iter().map(from_yaml).collect()),
        psych::YamlValue::Mapping(mapping) => {
            let entries = mapping.iter().map(|(key, value)| {
                let key = match &key.value {
                    psych::YamlValue::Symbol(text) => Value::Str(text.clone()),
                    _ => from_yaml(key),
                };
                (key, from_yaml(value))
            });
            Value::Hash(Arc::new(entries.collect()))
        }
    }
}

fn from_json(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Undef,
        serde_json::Value::Bool(flag) => Value::Bool(flag),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::from(text),
        serde_json::Value::Array(items) => Value::array(items.into_iter().map(from_json).collect()),
        serde_json::Value::Object(fields) => {
            let entries = fields.into_iter();
            let hash: Hash = entries
                .map(|(key, value)| (key, from_json(value)))
                .collect();
            Value::Hash(Arc::new(hash))
        }
    }
}
