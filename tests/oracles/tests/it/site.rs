//! The site under `hiera` as a lookup of ours sees it: [`Disk`].

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use hiera::{DirectoryEntry, FileIdentity, HostError, LookupHost};
use pcore::{Hash, Value};

pub(crate) struct Disk {
    pub(crate) site: PathBuf,
    pub(crate) variables: Hash,
}

impl LookupHost for Disk {
    fn variable(&mut self, name: &str) -> Result<Option<Value>, HostError> {
        let name = name.strip_prefix("::").unwrap_or(name);
        Ok(self.variables.get_str(name).cloned())
    }

    fn module_root(&mut self, module: &str) -> Option<PathBuf> {
        let root = self
            .site
            .join("environments/production/modules")
            .join(module);
        root.is_dir().then_some(root)
    }

    fn identity(&mut self, path: &Path) -> Option<FileIdentity> {
        identity(path)
    }

    fn read(&mut self, path: &Path) -> Result<String, HostError> {
        std::fs::read_to_string(path).map_err(|error| HostError(error.into()))
    }

    fn entries(&mut self, directory: &Path) -> Vec<DirectoryEntry> {
        entries(directory)
    }

    fn warn(&mut self, _message: &str) {}

    fn type_of(&mut self, text: &str) -> Result<Value, HostError> {
        Ok(Value::from(text))
    }

    fn convert(&mut self, value: Value, convert_to: &[Value]) -> Result<Value, HostError> {
        match (&convert_to[0], &value) {
            (Value::Str(name), Value::Str(text)) if &**name == "Integer" => {
                text.parse().map(Value::Int).map_err(|_| {
                    HostError::text(format!(
                        "'new' The string '{text}' cannot be converted to Integer"
                    ))
                })
            }
            (Value::Str(name), _) if &**name == "Sensitive" => {
                Ok(Value::Sensitive(std::sync::Arc::new(value)))
            }
            other => Err(HostError::text(format!("{other:?}"))),
        }
    }
}

pub(crate) fn identity(path: &Path) -> Option<FileIdentity> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(FileIdentity {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        changed_nanoseconds: i128::from(metadata.ctime()) * 1_000_000_000
            + i128::from(metadata.ctime_nsec()),
    })
}

pub(crate) fn entries(directory: &Path) -> Vec<DirectoryEntry> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let entry = |entry: std::fs::DirEntry| DirectoryEntry {
        name: entry.file_name().to_string_lossy().into_owned(),
        is_directory: entry.path().is_dir(),
    };
    entries.map(|it| entry(it.unwrap())).collect()
}

pub(crate) fn from_json(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Undef,
        serde_json::Value::Bool(flag) => Value::Bool(*flag),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Float(number.as_f64().unwrap()),
        },
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Array(items) => Value::array(items.iter().map(from_json).collect()),
        serde_json::Value::Object(fields) => Value::from(hash(fields)),
    }
}

pub(crate) fn hash(fields: &serde_json::Map<String, serde_json::Value>) -> Hash {
    let entries = fields.iter();
    entries
        .map(|(key, value)| (key.as_str(), from_json(value)))
        .collect()
}

pub(crate) fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Undef => serde_json::Value::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Str(text) => text.as_ref().into(),
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Hash(hash) => hash
            .iter()
            .map(|(key, value)| match key {
                Value::Str(key) => (key.to_string(), to_json(value)),
                Value::Int(key) => (key.to_string(), to_json(value)),
                other => panic!("{other:?}"),
            })
            .collect(),
        Value::Sensitive(inner) => serde_json::json!({"sensitive": to_json(inner)}),
        other => panic!("{other:?}"),
    }
}
