//! The locations of an entry of a hierarchy: [`DataLocation`].

use std::path::{Path, PathBuf};

use pcore::Value;

use crate::config::{ConfigLayer, EntryLocations, HieraConfig, HierarchyEntry};
use crate::explain::plain_text;
use crate::lookup_run::LookupRun;
use crate::{Error, LookupSession};

/// A location of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataLocation {
    /// The text in the configuration, before interpolation.
    pub(crate) original: String,
    pub(crate) source: DataSource,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataSource {
    Path { path: PathBuf, exists: bool },
    Uri(String),
}

/// An entry whose locations are resolved.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedEntry {
    pub(crate) entry: HierarchyEntry,
    /// `None` if the entry has no locations and is called once as a whole.
    pub(crate) locations: Option<Vec<DataLocation>>,
}

impl LookupSession {
    /// Resolves the entries of a hierarchy, with all expressions interpolated.
    pub(crate) fn resolve(
        &self,
        run: &mut LookupRun<'_>,
        (owner, config): (ConfigLayer, &HieraConfig),
        entries: &[HierarchyEntry],
    ) -> Result<Vec<ResolvedEntry>, Error> {
        let mut resolved = Vec::new();
        for entry in entries {
            let datadir = config.root.join(&entry.datadir);
            let datadir = self.interpolate_config(run, &datadir.to_string_lossy())?;
            let mut places =
                self.entry_locations(run, (owner, Path::new(&datadir)), &entry.locations)?;
            if let (None, Some(places)) = (&config.path, &mut places) {
                places
                    .retain(|place| matches!(place.source, DataSource::Path { exists: true, .. }));
                if places.is_empty() {
                    continue;
                }
            }
            let mut entry = entry.clone();
            let options = Value::from(entry.options);
            let options =
                self.interpolate(run, &options, crate::interpolate::MethodUse::Forbidden)?;
            entry.options = match options {
                Value::Hash(options) => std::sync::Arc::unwrap_or_clone(options),
                _ => pcore::Hash::new(),
            };
            resolved.push(ResolvedEntry {
                entry,
                locations: places,
            });
        }
        Ok(resolved)
    }

    fn entry_locations(
        &self,
        run: &mut LookupRun<'_>,
        (owner, datadir): (ConfigLayer, &Path),
        locations: &EntryLocations,
    ) -> Result<Option<Vec<DataLocation>>, Error> {
        let mut places = Vec::new();
        match locations {
            EntryLocations::None => return Ok(None),
            EntryLocations::Paths(paths, extension) => {
                for original in paths {
                    let mut path = self.interpolate_config(run, original)?;
                    if let Some(extension) = extension
                        && !path.ends_with(extension.as_str())
                    {
                        path.push_str(extension);
                    }
                    places.push(path_location(run, (owner, datadir), original, &path));
                }
            }
            EntryLocations::Globs(globs) => {
                for glob in globs {
                    let glob = self.interpolate_config(run, glob)?;
                    let glob = datadir.join(glob).to_string_lossy().into_owned();
                    if owner == ConfigLayer::Global {
                        run.host.note_global_path(&crate::glob::fixed_part(&glob));
                    }
                    for path in crate::glob::glob(run.host, &glob) {
                        let original = glob.clone();
                        let at = DataSource::Path { path, exists: true };
                        places.push(DataLocation {
                            original,
                            source: at,
                        });
                    }
                }
            }
            EntryLocations::Uris(uris) => {
                for original in uris {
                    let uri = self.interpolate_config(run, original)?;
                    let original = original.clone();
                    let at = DataSource::Uri(uri);
                    places.push(DataLocation {
                        original,
                        source: at,
                    });
                }
            }
            EntryLocations::Mapped(variable, name, template) => {
                let values = self.scope_value(run, variable, "mapped_path[0]")?;
                for value in mapped_values(values) {
                    let outer = run.mapped.replace((name.clone(), value));
                    let path = self.interpolate_config(run, template);
                    run.mapped = outer;
                    places.push(path_location(run, (owner, datadir), template, &path?));
                }
            }
        }
        Ok(Some(places))
    }
}

fn path_location(
    run: &mut LookupRun<'_>,
    (owner, datadir): (ConfigLayer, &Path),
    original: &str,
    path: &str,
) -> DataLocation {
    let path = datadir.join(path);
    if owner == ConfigLayer::Global {
        run.host.note_global_path(&path);
    }
    let exists = run.host.identity(&path).is_some();
    let original = original.to_owned();
    let at = DataSource::Path { path, exists };
    DataLocation {
        original,
        source: at,
    }
}

/// The values over which a variable of `mapped_paths` iterates.
fn mapped_values(values: Value) -> Vec<Value> {
    match values {
        Value::Undef => Vec::new(),
        Value::Str(text) if text.is_empty() => Vec::new(),
        Value::Array(items) => items.to_vec(),
        Value::Hash(hash) => hash
            .iter()
            .map(|(key, value)| Value::array(vec![key.clone(), value.clone()]))
            .collect(),
        other => vec![Value::from(plain_text(&other))],
    }
}
