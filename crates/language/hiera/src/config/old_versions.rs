//! `hiera.yaml` of versions 3 and 4.

use pcore::{Hash, Value};

use super::{DataFunctionKind, EntryLocations, HieraConfig, HieraConfigReader, HierarchyEntry};
use crate::Error;

impl HieraConfigReader<'_> {
    pub(super) fn version4(&self, data: &Hash) -> Result<HieraConfig, Error> {
        self.check_known_keys(
            data,
            &["version", "datadir", "hierarchy"],
            "the configuration",
        )?;
        let datadir = self.text(data, "datadir")?.unwrap_or("data".to_owned());
        let mut config = HieraConfig::default_config(&self.root());
        (config.version, config.path) = (4, Some(self.path.to_owned()));
        let entries = match data.get_str("hierarchy") {
            Some(Value::Array(entries)) => entries.to_vec(),
            Some(_) => return Err(self.fail("a hierarchy must be a list")),
            None => {
                let common: Hash = [("name", "common"), ("backend", "yaml")]
                    .into_iter()
                    .collect();
                vec![Value::from(common)]
            }
        };
        config.hierarchy.clear();
        for entry in &entries {
            let Value::Hash(entry) = entry else {
                return Err(self.fail("an entry of a hierarchy must be a hash"));
            };
            let known = ["backend", "name", "datadir", "path", "paths"];
            self.check_known_keys(entry, &known, "hierarchy")?;
            let name = self.text(entry, "name")?.unwrap_or_default();
            let backend = self.text(entry, "backend")?.unwrap_or_default();
            let (function, extension) = self.old_backend(&backend)?;
            let paths = match entry.get_str("paths") {
                Some(_) => self.texts(entry, "paths")?,
                None => vec![self.text(entry, "path")?.unwrap_or_else(|| name.clone())],
            };
            config.hierarchy.push(HierarchyEntry {
                name,
                kind: DataFunctionKind::DataHash,
                function: function.to_owned(),
                datadir: self
                    .text(entry, "datadir")?
                    .unwrap_or_else(|| datadir.clone()),
                locations: EntryLocations::Paths(paths, Some(extension.to_owned())),
                options: Hash::new(),
            });
        }
        Ok(config)
    }

    /// The paths of all entries, repeated for each backend.
    pub(super) fn version3(&self, data: &Hash) -> Result<HieraConfig, Error> {
        let list = |key: &str, standard: &[&str]| -> Result<Vec<String>, Error> {
            match data.get_str(key) {
                None => Ok(standard.iter().map(|it| (*it).to_owned()).collect()),
                Some(Value::Str(one)) => Ok(vec![one.to_string()]),
                Some(_) => self.texts(data, key),
            }
        };
        let backends = list("backends", &["yaml"])?;
        let paths = list("hierarchy", &["nodes/%{::trusted.certname}", "common"])?;
        let mut config = HieraConfig::default_config(&self.root());
        (config.version, config.path) = (3, Some(self.path.to_owned()));
        config.hierarchy.clear();
        for backend in backends {
            let options = self.hash(data, &backend)?;
            if config.hierarchy.iter().any(|known| known.name == backend) {
                return Err(self.fail(format!("Backend '{backend}' is defined more than once.")));
            }
            let (function, extension) = self.old_backend(&backend)?;
            let extension = match self.text(&options, "extension")? {
                Some(extension) => format!(".{extension}"),
                None => extension.to_owned(),
            };
            let datadir = self
                .text(&options, "datadir")?
                .ok_or_else(|| self.fail(format!("the backend '{backend}' lacks its 'datadir'")))?;
            config.hierarchy.push(HierarchyEntry {
                kind: if backend == "eyaml" {
                    DataFunctionKind::LookupKey
                } else {
                    DataFunctionKind::DataHash
                },
                name: backend,
                function: function.to_owned(),
                datadir,
                locations: EntryLocations::Paths(paths.clone(), Some(extension)),
                options: Hash::clone(&options),
            });
        }
        Ok(config)
    }

    fn old_backend(&self, backend: &str) -> Result<(&'static str, &'static str), Error> {
        match backend {
            "yaml" => Ok(("yaml_data", ".yaml")),
            "json" => Ok(("json_data", ".json")),
            "hocon" => Ok(("hocon_data", ".conf")),
            "eyaml" => Ok(("eyaml_lookup_key", ".eyaml")),
            _ => Err(self.fail(format!(
                "No data provider is registered for backend '{backend}'"
            ))),
        }
    }
}
