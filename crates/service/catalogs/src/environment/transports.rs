//! The transports of the modules of an environment: [`EnvironmentListing::of_transports`].
//!
//! They are the files `lib/puppet/transport/schema/NAME.rb`. A schema that is made of literals is read without Ruby; any
//! other one is loaded by [`TransportRuby`]. Invariant: a schema that cannot be loaded is left out, and the log names it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::time::Instant;

use evaluator::{CodeOwner, CodeSource, SourceFile};
use lookup::LookupFiles as _;
use resource_types::read_ruby_transport;
use ruby_workers::{RubyCallError, RubyEnvironment, RubyWorkers};
use serde_json::{Map, Value as Json, json};

use super::{EnvironmentFiles, EnvironmentListing, EnvironmentListingError};
use crate::defaults::{LISTING_BYTES_MAX, SCHEMAS_TIME_MAX};
use crate::ruby::NoCompilation;

const SCHEMAS: &str = "lib/puppet/transport/schema";

/// The Ruby of an environment version, for schemas that must be run.
#[derive(Debug)]
pub(crate) struct TransportRuby {
    pub(crate) workers: RubyWorkers,
    pub(crate) environment: RubyEnvironment,
}

/// Reason that the schemas of a file are left out.
#[derive(Debug, thiserror::Error)]
enum LeftOutSchema {
    #[error(transparent)]
    Call(#[from] RubyCallError),
    #[error("the schemas before it took {} s in Ruby", SCHEMAS_TIME_MAX.as_secs())]
    NoTime,
    #[error("it registers no transport")]
    Nothing,
    #[error("it registers a transport whose name is no text")]
    Unnamed,
    #[error("another file registers the transport {0} too")]
    Registered(String),
}

/// The transports of the files that were read so far.
#[derive(Debug, Default)]
struct ListedTransports {
    names: BTreeSet<String>,
    transports: Vec<Json>,
    bytes: usize,
    /// True if a schema was left out that may be there the next time.
    is_passing: bool,
}

impl EnvironmentListing {
    /// Reads the schemas of all modules of an environment. Blocks on the disk and on Ruby; `None` if the server has no
    /// Ruby.
    pub(crate) fn of_transports(
        files: &EnvironmentFiles,
        ruby: Option<&TransportRuby>,
    ) -> Result<Self, EnvironmentListingError> {
        let mut listed = ListedTransports::default();
        let until = Instant::now() + SCHEMAS_TIME_MAX;
        for (module, file) in files.schema_files() {
            let path = format!("{SCHEMAS}/{file}");
            let read = CodeSource::read(files, CodeOwner::Module(&module), &path);
            let read = read.map_err(EnvironmentListingError::Transport)?;
            let Some(source) = read else {
                continue;
            };
            let added = match read_schemas(&source, ruby, until)? {
                Ok(schemas) => listed.add(schemas)?,
                Err(reason) => Err(reason),
            };
            if let Err(reason) = added {
                listed.is_passing |= reason.is_passing();
                let environment = &*files.environment.name;
                let path = &*source.path;
                tracing::error!(environment, path, %reason, "a schema of a transport is left out");
            }
        }
        let body = json!({"name": files.environment.name, "transports": listed.transports});
        let listing = Self::new(body.to_string());
        Ok(match listed.is_passing {
            true => listing.that_may_change(),
            false => listing,
        })
    }
}

/// The schemas of a file. Those of a file that must be run need Ruby.
fn read_schemas(
    source: &SourceFile,
    ruby: Option<&TransportRuby>,
    until: Instant,
) -> Result<Result<Vec<Map<String, Json>>, LeftOutSchema>, EnvironmentListingError> {
    let unread = match read_ruby_transport(&String::from_utf8_lossy(&source.bytes)) {
        Ok(schema) => return Ok(Ok(vec![schema])),
        Err(unread) => unread,
    };
    let failed = |cause: String| EnvironmentListingError::TransportRuby {
        path: source.path.to_string(),
        source: unread.clone(),
        cause,
    };
    let ruby = ruby.ok_or_else(|| failed("catalogs.ruby is false".to_owned()))?;
    if Instant::now() >= until {
        return Ok(Err(LeftOutSchema::NoTime));
    }
    // a session for each file, so that the constants of one are unknown to the others
    let session = ruby.workers.session(&ruby.environment);
    let session = session.map_err(|error| failed(error.to_string()))?;
    let schemas = session.transport_schemas(Path::new(&*source.path), &mut NoCompilation);
    Ok(schemas.map_err(LeftOutSchema::from))
}

impl ListedTransports {
    /// Adds the schemas of a file, or none of them.
    fn add(
        &mut self,
        schemas: Vec<Map<String, Json>>,
    ) -> Result<Result<(), LeftOutSchema>, EnvironmentListingError> {
        if schemas.is_empty() {
            return Ok(Err(LeftOutSchema::Nothing));
        }
        let mut names = Vec::with_capacity(schemas.len());
        for schema in &schemas {
            let Some(name) = schema.get("name").and_then(Json::as_str) else {
                return Ok(Err(LeftOutSchema::Unnamed));
            };
            if self.names.contains(name) {
                return Ok(Err(LeftOutSchema::Registered(name.to_owned())));
            }
            names.push(name.to_owned());
        }
        self.names.extend(names);
        for schema in schemas {
            let schema = sorted(Json::Object(schema));
            self.bytes += schema.to_string().len();
            if self.bytes > LISTING_BYTES_MAX {
                return Err(EnvironmentListingError::TooLarge);
            }
            self.transports.push(schema);
        }
        Ok(Ok(()))
    }
}

impl LeftOutSchema {
    /// True if the schema may be there the next time: its process was ended from outside, or had no time.
    fn is_passing(&self) -> bool {
        match self {
            Self::Call(error) => matches!(
                error,
                RubyCallError::TimedOut { .. }
                    | RubyCallError::Died { .. }
                    | RubyCallError::OutOfMemory { .. }
                    | RubyCallError::Interrupted { .. }
                    | RubyCallError::Ended { .. }
            ),
            Self::NoTime => true,
            Self::Nothing | Self::Unnamed | Self::Registered(_) => false,
        }
    }
}

impl EnvironmentFiles {
    /// The files with schemas, as module and name, in the order in which Puppet loads them: by modules, and a name counts
    /// once.
    fn schema_files(&self) -> Vec<(String, String)> {
        let mut known = HashSet::new();
        let mut files = Vec::new();
        for path in &self.environment.modulepath {
            let modules = self.entries(path).into_iter();
            let modules = modules.filter(|module| module.is_directory);
            let modules: BTreeSet<String> = modules.map(|module| module.name).collect();
            for module in modules {
                if self.module_root(&module) != Some(path.join(&module)) {
                    continue;
                }
                let entries = self.entries(&path.join(&module).join(SCHEMAS)).into_iter();
                let entries = entries.filter(|it| it.name.ends_with(".rb") && !it.is_directory);
                let names: BTreeSet<String> = entries.map(|entry| entry.name).collect();
                let names = names.into_iter().filter(|name| known.insert(name.clone()));
                files.extend(names.map(|name| (module.clone(), name)));
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
    fn the_first_module_with_a_file_counts_and_a_schema_that_must_be_run_needs_ruby() {
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
            let listed = EnvironmentListing::of_transports(&files, None);
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
        let expected = format!(r#"{{"name":"production","transports":[{thing},{a}]}}"#);
        assert_eq!(&*list().unwrap(), expected);
        // a second file with the same transport
        write("site/demo/lib/puppet/transport/schema/z.rb", "'thing'");
        assert_eq!(&*list().unwrap(), expected);
        write("site/demo/lib/puppet/transport/schema/z.rb", "name()");
        let error = list().unwrap_err();
        for words in [
            "z.rb, line 2: a value that is no literal",
            "catalogs.ruby is false",
        ] {
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
