//! The transports of the modules of an environment: [`EnvironmentListing::of_transports`].
//!
//! They are the files `lib/puppet/transport/schema/NAME.rb`, which are read and never run.

use std::collections::{BTreeMap, BTreeSet};

use evaluator::{CodeOwner, CodeSource};
use lookup::LookupFiles as _;
use resource_types::read_ruby_transport;
use serde_json::{Map, Value as Json, json};

use super::{EnvironmentFiles, EnvironmentListing, EnvironmentListingError};
use crate::defaults::LISTING_BYTES_MAX;

const SCHEMAS: &str = "lib/puppet/transport/schema";

impl EnvironmentListing {
    /// Reads the schemas of all modules of an environment. Blocks on the disk.
    pub(crate) fn of_transports(files: &EnvironmentFiles) -> Result<Self, EnvironmentListingError> {
        let mut names = BTreeSet::new();
        let mut transports = Vec::new();
        let mut bytes = 0;
        for (file, module) in files.schema_files() {
            let path = format!("{SCHEMAS}/{file}");
            let read = CodeSource::read(files, CodeOwner::Module(&module), &path);
            let read = read.map_err(EnvironmentListingError::Transport)?;
            let Some(source) = read else {
                continue;
            };
            let text = String::from_utf8_lossy(&source.bytes);
            let schema = read_ruby_transport(&text).map_err(|unread| {
                EnvironmentListingError::TransportSchema {
                    path: source.path.to_string(),
                    source: unread,
                }
            })?;
            let name = schema["name"].to_string();
            if !names.insert(name.clone()) {
                return Err(EnvironmentListingError::SecondTransport {
                    path: source.path.to_string(),
                    name,
                });
            }
            bytes += text.len();
            if bytes > LISTING_BYTES_MAX {
                return Err(EnvironmentListingError::TooLarge);
            }
            transports.push(sorted(Json::Object(schema)));
        }
        let listed = json!({"name": files.environment.name, "transports": transports});
        Ok(Self::new(listed.to_string()))
    }
}

impl EnvironmentFiles {
    /// The names of the files with schemas, and the module of each: the first one that has it.
    fn schema_files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for path in &self.environment.modulepath {
            for module in self.entries(path) {
                let is_first = self.module_root(&module.name) == Some(path.join(&module.name));
                if !module.is_directory || !is_first {
                    continue;
                }
                for entry in self.entries(&path.join(&module.name).join(SCHEMAS)) {
                    if entry.name.ends_with(".rb") && !entry.is_directory {
                        files
                            .entry(entry.name)
                            .or_insert_with(|| module.name.clone());
                    }
                }
            }
        }
        files
    }
}

/// The value with the keys of all hashes sorted.
fn sorted(value: Json) -> Json {
    match value {
        Json::Object(entries) => {
            let entries: BTreeMap<String, Json> = entries.into_iter().collect();
            let entries = entries.into_iter().map(|(key, value)| (key, sorted(value)));
            Json::Object(entries.collect::<Map<_, _>>())
        }
        Json::Array(values) => values.into_iter().map(sorted).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ruby_workers::HiddenPaths;

    use super::super::{EnvironmentFiles, EnvironmentListing, EnvironmentOnDisk};

    #[test]
    fn the_first_module_with_a_file_counts_and_a_schema_that_must_be_run_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, name: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text = format!(
                "require 'puppet/resource_api'\nPuppet::ResourceApi.register_transport(name: {name}, desc: 'd', \
                 connection_info: {{ port: {{ type: 'Integer', default: 1 }} }})\n"
            );
            fs::write(path, text).unwrap();
        };
        let list = || {
            let on_disk = EnvironmentOnDisk {
                name: "production".to_owned(),
                root: root.path().to_owned(),
                modulepath: vec![root.path().join("site"), root.path().join("modules")],
                hiera_config: root.path().join("hiera.yaml"),
            };
            let files = EnvironmentFiles::new(on_disk, HiddenPaths::default());
            let listed = EnvironmentListing::of_transports(&files);
            listed.map(|it| it.body).map_err(|error| error.to_string())
        };
        assert_eq!(
            &*list().unwrap(),
            r#"{"name":"production","transports":[]}"#
        );
        write(
            "modules/demo/lib/puppet/transport/schema/thing.rb",
            "'hidden'",
        );
        write("modules/other/lib/puppet/transport/schema/a.rb", "'a'");
        write("site/demo/lib/puppet/transport/schema/thing.rb", "'thing'");
        let transport = |name: &str| {
            format!(
                r#"{{"connection_info":{{"port":{{"default":1,"type":"Integer"}}}},"connection_info_order":["port"],"desc":"d","name":"{name}"}}"#
            )
        };
        let (a, thing) = (transport("a"), transport("thing"));
        let expected = format!(r#"{{"name":"production","transports":[{a},{thing}]}}"#);
        assert_eq!(&*list().unwrap(), expected);
        write("site/demo/lib/puppet/transport/schema/z.rb", "'thing'");
        assert!(list().unwrap_err().contains("another file registers"));
        write("site/demo/lib/puppet/transport/schema/z.rb", "name()");
        let error = list().unwrap_err();
        assert!(
            error.contains("z.rb, line 2: a value that is no literal"),
            "{error}"
        );
    }
}
