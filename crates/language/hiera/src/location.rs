//! The locations of an entry of a hierarchy: [`Place`].

use std::path::{Path, PathBuf};

use pcore::Value;

use crate::config::{Config, Entry, Locations, Owner};
use crate::explain::plain;
use crate::run::Run;
use crate::{Error, Session};

/// A location of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The text in the configuration, before interpolation.
    pub(crate) original: String,
    pub(crate) at: At,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum At {
    Path { path: PathBuf, exists: bool },
    Uri(String),
}

/// An entry whose locations are resolved.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    pub(crate) entry: Entry,
    /// `None` if the entry has no locations and is called once as a whole.
    pub(crate) places: Option<Vec<Place>>,
}

impl Session {
    /// Resolves the entries of a hierarchy, with all expressions interpolated.
    pub(crate) fn resolve(
        &self,
        run: &mut Run<'_>,
        (owner, config): (Owner, &Config),
        entries: &[Entry],
    ) -> Result<Vec<Resolved>, Error> {
        let mut resolved = Vec::new();
        for entry in entries {
            let datadir = config.root.join(&entry.datadir);
            let datadir = self.interpolate_config(run, &datadir.to_string_lossy())?;
            let mut places = self.places(run, (owner, Path::new(&datadir)), &entry.locations)?;
            if let (None, Some(places)) = (&config.path, &mut places) {
                places.retain(|place| matches!(place.at, At::Path { exists: true, .. }));
                if places.is_empty() {
                    continue;
                }
            }
            let mut entry = entry.clone();
            let options = Value::from(entry.options);
            let options =
                self.interpolate(run, &options, crate::interpolate::Methods::Forbidden)?;
            entry.options = match options {
                Value::Hash(options) => std::sync::Arc::unwrap_or_clone(options),
                _ => pcore::Hash::new(),
            };
            resolved.push(Resolved { entry, places });
        }
        Ok(resolved)
    }

    fn places(
        &self,
        run: &mut Run<'_>,
        (owner, datadir): (Owner, &Path),
        locations: &Locations,
    ) -> Result<Option<Vec<Place>>, Error> {
        let mut places = Vec::new();
        match locations {
            Locations::None => return Ok(None),
            Locations::Paths(paths, extension) => {
                for original in paths {
                    let mut path = self.interpolate_config(run, original)?;
                    if let Some(extension) = extension
                        && !path.ends_with(extension.as_str())
                    {
                        path.push_str(extension);
                    }
                    places.push(path_place(run, (owner, datadir), original, &path));
                }
            }
            Locations::Globs(globs) => {
                for glob in globs {
                    let glob = self.interpolate_config(run, glob)?;
                    let glob = datadir.join(glob).to_string_lossy().into_owned();
                    if owner == Owner::Global {
                        run.host.named_globally(&crate::glob::fixed_part(&glob));
                    }
                    for path in crate::glob::glob(run.host, &glob) {
                        let original = glob.clone();
                        let at = At::Path { path, exists: true };
                        places.push(Place { original, at });
                    }
                }
            }
            Locations::Uris(uris) => {
                for original in uris {
                    let uri = self.interpolate_config(run, original)?;
                    let original = original.clone();
                    let at = At::Uri(uri);
                    places.push(Place { original, at });
                }
            }
            Locations::Mapped(variable, name, template) => {
                let values = self.scope_value(run, variable, "mapped_path[0]")?;
                for value in mapped(values) {
                    let outer = run.mapped.replace((name.clone(), value));
                    let path = self.interpolate_config(run, template);
                    run.mapped = outer;
                    places.push(path_place(run, (owner, datadir), template, &path?));
                }
            }
        }
        Ok(Some(places))
    }
}

fn path_place(
    run: &mut Run<'_>,
    (owner, datadir): (Owner, &Path),
    original: &str,
    path: &str,
) -> Place {
    let path = datadir.join(path);
    if owner == Owner::Global {
        run.host.named_globally(&path);
    }
    let exists = run.host.identity(&path).is_some();
    let original = original.to_owned();
    let at = At::Path { path, exists };
    Place { original, at }
}

/// The values over which a variable of `mapped_paths` iterates.
fn mapped(values: Value) -> Vec<Value> {
    match values {
        Value::Undef => Vec::new(),
        Value::Str(text) if text.is_empty() => Vec::new(),
        Value::Array(items) => items.to_vec(),
        Value::Hash(hash) => hash
            .iter()
            .map(|(key, value)| Value::array(vec![key.clone(), value.clone()]))
            .collect(),
        other => vec![Value::from(plain(&other))],
    }
}
