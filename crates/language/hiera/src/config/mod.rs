//! `hiera.yaml` of versions 3, 4 and 5: [`Config`].

mod old;
mod version5;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcore::{Hash, Value};

use crate::Error;
use crate::explain::plain;

/// The owner of a configuration: its layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Global,
    Environment,
    Module,
}

#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) version: i64,
    /// `None` for the default configuration that replaces a missing file.
    pub(crate) path: Option<PathBuf>,
    pub(crate) root: PathBuf,
    pub(crate) hierarchy: Vec<Entry>,
    pub(crate) plan_hierarchy: Option<Vec<Entry>>,
    pub(crate) default_hierarchy: Option<Vec<Entry>>,
}

/// One entry of a hierarchy.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) function: String,
    pub(crate) datadir: String,
    pub(crate) locations: Locations,
    pub(crate) options: Hash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    DataHash,
    LookupKey,
    DataDig,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DataHash => "data_hash",
            Self::LookupKey => "lookup_key",
            Self::DataDig => "data_dig",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Locations {
    None,
    /// Paths, and the extension that is appended where it is missing.
    Paths(Vec<String>, Option<String>),
    Globs(Vec<String>),
    Uris(Vec<String>),
    /// The variable, the name under which each of its values is available, and the path.
    Mapped(String, String, String),
}

impl Config {
    /// The configuration that applies if there is no file.
    pub(crate) fn standard(root: &Path) -> Self {
        Self {
            version: 5,
            path: None,
            root: root.to_owned(),
            hierarchy: vec![Entry {
                name: "Common".to_owned(),
                kind: Kind::DataHash,
                function: "yaml_data".to_owned(),
                datadir: "data".to_owned(),
                locations: Locations::Paths(vec!["common.yaml".to_owned()], None),
                options: Hash::new(),
            }],
            plan_hierarchy: None,
            default_hierarchy: None,
        }
    }

    pub(crate) fn of(path: &Path, data: &Value, owner: Owner) -> Result<Self, Error> {
        let reader = Reader { path, owner };
        let empty = Arc::default();
        let data = match data {
            Value::Hash(data) => data,
            // A file without a hash counts as one of an old version without settings.
            _ => &empty,
        };
        let version = match data.get_str("version") {
            None | Some(Value::Undef) => 3,
            Some(Value::Int(version)) => *version,
            Some(other) => plain(other).trim().parse().unwrap_or(0),
        };
        match (version, owner) {
            (5, _) => reader.version5(data),
            (4, Owner::Global) => {
                Err(reader.fail("hiera.yaml version 4 cannot be used in the global layer"))
            }
            (4, _) => reader.version4(data),
            (3, Owner::Global) => reader.version3(data),
            (3, _) => Err(reader.fail("hiera.yaml version 3 cannot be used in this place")),
            _ => Err(reader.fail(format!(
                "This runtime does not support hiera.yaml version {version}"
            ))),
        }
    }
}

/// Reads one file.
struct Reader<'c> {
    path: &'c Path,
    owner: Owner,
}

impl Reader<'_> {
    fn fail(&self, what: impl Into<String>) -> Error {
        Error::Config {
            what: what.into(),
            path: self.path.display().to_string(),
        }
    }

    fn root(&self) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("/")).to_owned()
    }

    fn only(&self, hash: &Hash, known: &[&str], place: &str) -> Result<(), Error> {
        let mut keys = hash.keys().map(plain);
        match keys.find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self.fail(format!("{place} has an unrecognized key '{key}'"))),
            None => Ok(()),
        }
    }

    fn text(&self, hash: &Hash, key: &str) -> Result<Option<String>, Error> {
        match hash.get_str(key) {
            None => Ok(None),
            Some(Value::Str(text)) if !text.is_empty() => Ok(Some(text.to_string())),
            Some(_) => Err(self.fail(format!("'{key}' must be a text that is not empty"))),
        }
    }

    fn texts(&self, hash: &Hash, key: &str) -> Result<Vec<String>, Error> {
        let refused = || self.fail(format!("'{key}' must be a list of texts"));
        let Some(Value::Array(items)) = hash.get_str(key) else {
            return Err(refused());
        };
        let texts = items.iter().map(|item| match item {
            Value::Str(text) if !text.is_empty() => Ok(text.to_string()),
            _ => Err(refused()),
        });
        texts.collect()
    }

    fn hash(&self, hash: &Hash, key: &str) -> Result<Arc<Hash>, Error> {
        match hash.get_str(key) {
            None | Some(Value::Undef) => Ok(Arc::default()),
            Some(Value::Hash(inner)) => Ok(inner.clone()),
            Some(_) => Err(self.fail(format!("'{key}' must be a hash"))),
        }
    }
}
