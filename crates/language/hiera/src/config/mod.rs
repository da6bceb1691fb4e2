//! `hiera.yaml` of versions 3, 4 and 5: [`HieraConfig`].

mod old_versions;
mod version5;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcore::{Hash, Value};

use crate::Error;
use crate::explain::plain_text;

/// The owner of a configuration: its layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigLayer {
    Global,
    Environment,
    Module,
}

#[derive(Debug, Clone)]
pub(crate) struct HieraConfig {
    pub(crate) version: i64,
    /// `None` for the default configuration that replaces a missing file.
    pub(crate) path: Option<PathBuf>,
    pub(crate) root: PathBuf,
    pub(crate) hierarchy: Vec<HierarchyEntry>,
    pub(crate) plan_hierarchy: Option<Vec<HierarchyEntry>>,
    pub(crate) default_hierarchy: Option<Vec<HierarchyEntry>>,
}

/// One entry of a hierarchy.
#[derive(Debug, Clone)]
pub(crate) struct HierarchyEntry {
    pub(crate) name: String,
    pub(crate) kind: DataFunctionKind,
    pub(crate) function: String,
    pub(crate) datadir: String,
    pub(crate) locations: EntryLocations,
    pub(crate) options: Hash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataFunctionKind {
    DataHash,
    LookupKey,
    DataDig,
}

impl DataFunctionKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DataHash => "data_hash",
            Self::LookupKey => "lookup_key",
            Self::DataDig => "data_dig",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryLocations {
    None,
    /// Paths, and the extension that is appended where it is missing.
    Paths(Vec<String>, Option<String>),
    Globs(Vec<String>),
    Uris(Vec<String>),
    /// The variable, the name under which each of its values is available, and the path.
    Mapped(String, String, String),
}

impl HieraConfig {
    /// The configuration that applies if there is no file.
    pub(crate) fn default_config(root: &Path) -> Self {
        Self {
            version: 5,
            path: None,
            root: root.to_owned(),
            hierarchy: vec![HierarchyEntry {
                name: "Common".to_owned(),
                kind: DataFunctionKind::DataHash,
                function: "yaml_data".to_owned(),
                datadir: "data".to_owned(),
                locations: EntryLocations::Paths(vec!["common.yaml".to_owned()], None),
                options: Hash::new(),
            }],
            plan_hierarchy: None,
            default_hierarchy: None,
        }
    }

    /// Puts the data of node groups before all other levels, as Puppet Enterprise's `hiera.yaml` does.
    pub(crate) fn add_classifier_data(&mut self) {
        let entry = HierarchyEntry {
            name: "Classifier Configuration Data".to_owned(),
            kind: DataFunctionKind::DataHash,
            function: "classifier_data".to_owned(),
            datadir: "data".to_owned(),
            locations: EntryLocations::None,
            options: Hash::new(),
        };
        self.hierarchy.insert(0, entry);
    }

    pub(crate) fn of(path: &Path, data: &Value, owner: ConfigLayer) -> Result<Self, Error> {
        let reader = HieraConfigReader { path, owner };
        let empty = Arc::default();
        let data = match data {
            Value::Hash(data) => data,
            // A file without a hash counts as one of an old version without settings.
            _ => &empty,
        };
        let version = match data.get_str("version") {
            None | Some(Value::Undef) => 3,
            Some(Value::Int(version)) => *version,
            Some(other) => plain_text(other).trim().parse().unwrap_or(0),
        };
        match (version, owner) {
            (5, _) => reader.version5(data),
            (4, ConfigLayer::Global) => {
                Err(reader.fail("hiera.yaml version 4 cannot be used in the global layer"))
            }
            (4, _) => reader.version4(data),
            (3, ConfigLayer::Global) => reader.version3(data),
            (3, _) => Err(reader.fail("hiera.yaml version 3 cannot be used in this place")),
            _ => Err(reader.fail(format!(
                "This runtime does not support hiera.yaml version {version}"
            ))),
        }
    }
}

/// Reads one file.
struct HieraConfigReader<'c> {
    path: &'c Path,
    owner: ConfigLayer,
}

impl HieraConfigReader<'_> {
    fn fail(&self, what: impl Into<String>) -> Error {
        Error::Config {
            what: what.into(),
            path: self.path.display().to_string(),
        }
    }

    fn root(&self) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("/")).to_owned()
    }

    fn check_known_keys(&self, hash: &Hash, known: &[&str], place: &str) -> Result<(), Error> {
        let mut keys = hash.keys().map(plain_text);
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
