//! `hiera.yaml` of version 5.

use std::sync::Arc;

use pcore::{Hash, Value};

use super::{
    ConfigLayer, DataFunctionKind, EntryLocations, HieraConfig, HieraConfigReader, HierarchyEntry,
};
use crate::Error;

const FUNCTIONS: [&str; 4] = ["data_hash", "lookup_key", "data_dig", "hiera3_backend"];
const LOCATIONS: [&str; 7] = [
    "path",
    "paths",
    "glob",
    "globs",
    "uri",
    "uris",
    "mapped_paths",
];

impl HieraConfigReader<'_> {
    pub(super) fn version5(&self, data: &Hash) -> Result<HieraConfig, Error> {
        let known = [
            "version",
            "defaults",
            "hierarchy",
            "plan_hierarchy",
            "default_hierarchy",
        ];
        self.check_known_keys(data, &known, "the configuration")?;
        let standard = HieraConfig::default_config(&self.root());
        let mut defaults = Arc::unwrap_or_clone(self.hash(data, "defaults")?);
        let known = ["data_hash", "lookup_key", "data_dig", "datadir", "options"];
        self.check_known_keys(&defaults, &known, "defaults")?;
        if !data.contains_key(&Value::from("defaults")) {
            defaults.insert("datadir", "data");
            defaults.insert("data_hash", "yaml_data");
        }
        if FUNCTIONS
            .iter()
            .filter(|key| defaults.get_str(key).is_some())
            .count()
            > 1
        {
            return Err(self.fail(format!(
                "Only one of {} can be defined in defaults",
                functions()
            )));
        }
        for key in ["path", "uri"] {
            if self.hash(&defaults, "options")?.get_str(key).is_some() {
                return Err(self.fail(format!(
                    "Option key '{key}' used in defaults is reserved by Puppet"
                )));
            }
        }
        let hierarchy = match data.get_str("hierarchy") {
            None => standard.hierarchy,
            Some(entries) => self.entries(entries, &defaults)?,
        };
        let plan_hierarchy = data.get_str("plan_hierarchy");
        let default_hierarchy = data.get_str("default_hierarchy");
        if default_hierarchy.is_some() && self.owner != ConfigLayer::Module {
            return Err(self.fail("'default_hierarchy' is only allowed in the module layer"));
        }
        let optional =
            |entries: Option<&Value>| entries.map(|it| self.entries(it, &defaults)).transpose();
        Ok(HieraConfig {
            version: 5,
            path: Some(self.path.to_owned()),
            root: self.root(),
            hierarchy,
            plan_hierarchy: optional(plan_hierarchy)?,
            default_hierarchy: optional(default_hierarchy)?,
        })
    }

    fn entries(&self, entries: &Value, defaults: &Hash) -> Result<Vec<HierarchyEntry>, Error> {
        let Value::Array(entries) = entries else {
            return Err(self.fail("a hierarchy must be a list"));
        };
        let mut read: Vec<HierarchyEntry> = Vec::new();
        for entry in entries.iter() {
            let Value::Hash(entry) = entry else {
                return Err(self.fail("an entry of a hierarchy must be a hash"));
            };
            let entry = self.entry(entry, defaults)?;
            if read.iter().any(|known| known.name == entry.name) {
                let name = entry.name;
                return Err(self.fail(format!("Hierarchy name '{name}' defined more than once.")));
            }
            read.push(entry);
        }
        Ok(read)
    }

    fn entry(&self, entry: &Hash, defaults: &Hash) -> Result<HierarchyEntry, Error> {
        let name = self.text(entry, "name")?;
        let name = name.ok_or_else(|| self.fail("an entry of a hierarchy lacks its 'name'"))?;
        let known = [
            &FUNCTIONS[..],
            &LOCATIONS[..],
            &["name", "options", "datadir"],
        ]
        .concat();
        self.check_known_keys(entry, &known, &format!("hierarchy '{name}'"))?;
        let (kind, function) = self.function(&name, entry, defaults)?;
        let options = match entry.get_str("options") {
            Some(_) => self.hash(entry, "options")?,
            None => self.hash(defaults, "options")?,
        };
        for key in ["path", "uri"] {
            if options.get_str(key).is_some() {
                return Err(self.fail(format!(
                    "Option key '{key}' used in hierarchy '{name}' is reserved by Puppet"
                )));
            }
        }
        let datadir = match self.text(entry, "datadir")? {
            Some(datadir) => datadir,
            None => self.text(defaults, "datadir")?.unwrap_or("data".to_owned()),
        };
        Ok(HierarchyEntry {
            locations: self.locations(&name, entry)?,
            name,
            kind,
            function,
            datadir,
            options: Hash::clone(&options),
        })
    }

    fn function(
        &self,
        name: &str,
        entry: &Hash,
        defaults: &Hash,
    ) -> Result<(DataFunctionKind, String), Error> {
        let of = |hash: &Hash| -> Vec<&str> {
            let set = FUNCTIONS.iter().filter(|key| hash.get_str(key).is_some());
            set.copied().collect()
        };
        let (key, from) = match (of(entry).as_slice(), of(defaults).as_slice()) {
            ([key], _) => (*key, entry),
            ([], [key, ..]) => (*key, defaults),
            ([], []) => {
                return Err(self.fail(format!(
                    "One of {} must be defined in hierarchy '{name}'",
                    functions()
                )));
            }
            _ => {
                return Err(self.fail(format!(
                    "Only one of {} can be defined in hierarchy '{name}'",
                    functions()
                )));
            }
        };
        let kind = match key {
            "data_hash" => DataFunctionKind::DataHash,
            "lookup_key" => DataFunctionKind::LookupKey,
            "data_dig" => DataFunctionKind::DataDig,
            _ => {
                return Err(self.fail(format!(
                    "hierarchy '{name}' uses a backend of Hiera 3, which is written in Ruby and \
                     cannot be used here"
                )));
            }
        };
        Ok((kind, self.text(from, key)?.unwrap_or_default()))
    }

    fn locations(&self, name: &str, entry: &Hash) -> Result<EntryLocations, Error> {
        let mut set = LOCATIONS.iter().filter(|key| entry.get_str(key).is_some());
        let Some(&key) = set.next() else {
            return Ok(EntryLocations::None);
        };
        if set.next().is_some() {
            let all = join_alternatives(&LOCATIONS);
            return Err(self.fail(format!(
                "Only one of {all} can be defined in hierarchy '{name}'"
            )));
        }
        let one =
            || -> Result<Vec<String>, Error> { Ok(self.text(entry, key)?.into_iter().collect()) };
        Ok(match key {
            "path" => EntryLocations::Paths(one()?, None),
            "paths" => EntryLocations::Paths(self.texts(entry, key)?, None),
            "glob" => EntryLocations::Globs(one()?),
            "globs" => EntryLocations::Globs(self.texts(entry, key)?),
            "uri" => EntryLocations::Uris(one()?),
            "uris" => EntryLocations::Uris(self.texts(entry, key)?),
            _ => match <[String; 3]>::try_from(self.texts(entry, key)?) {
                Ok([variable, name, path]) => EntryLocations::Mapped(variable, name, path),
                Err(_) => {
                    return Err(
                        self.fail(format!("'mapped_paths' of '{name}' must be three texts"))
                    );
                }
            },
        })
    }
}

fn functions() -> String {
    join_alternatives(&FUNCTIONS)
}

/// `'a', 'b', or 'c'`.
fn join_alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{}, or {last}", rest.join(", ")),
        None => String::new(),
    }
}
