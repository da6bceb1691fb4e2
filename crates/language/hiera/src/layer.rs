//! The layers (global, environment, module) and the search through their entries.

use std::sync::Arc;

use pcore::{Hash, Value};

use crate::config::{Config, Owner};
use crate::explain::Step;
use crate::key::LookupKey;
use crate::location::{At, Resolved};
use crate::merge::Merge;
use crate::run::Run;
use crate::{Error, Session};

/// A configuration and, after its first use, its hierarchies.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) config: Arc<Config>,
    pub(crate) owner: Owner,
    pub(crate) module: Option<String>,
    resolved: Option<Arc<Hierarchies>>,
}

#[derive(Debug)]
struct Hierarchies {
    main: Vec<Resolved>,
    default: Vec<Resolved>,
    /// Variables that were used to build the hierarchies, with their values.
    depends_on: Vec<(String, Option<Value>)>,
}

/// Identifies a layer of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum LayerId {
    Global,
    Environment,
    Module(String),
}

impl Layer {
    pub(crate) fn of(config: Config, owner: Owner, module: Option<String>) -> Self {
        Self {
            config: Arc::new(config),
            owner,
            module,
            resolved: None,
        }
    }

    fn name(&self) -> String {
        let version = self.config.version;
        let place = match (&self.owner, &self.module) {
            (Owner::Global, _) => "Global ".to_owned(),
            (Owner::Environment, _) => "Environment ".to_owned(),
            (Owner::Module, module) => {
                format!("Module \"{}\" ", module.as_deref().unwrap_or_default())
            }
        };
        format!("{place}Data Provider (hiera configuration version {version})")
    }

    fn step(&self) -> Step {
        let config = self.config.path.as_ref();
        Step::Provider {
            name: self.name(),
            config: config.map(|path| path.display().to_string()),
        }
    }
}

impl Session {
    /// Searches a layer, or the `default_hierarchy` of a module's layer.
    pub(crate) fn search_layer(
        &self,
        run: &mut Run<'_>,
        id: &LayerId,
        key: &LookupKey,
        merge: &Merge,
        default: bool,
    ) -> Result<Option<Value>, Error> {
        let Some(layer) = self.layer(run, id)? else {
            return Ok(None);
        };
        let step = layer.step();
        // For defaults, the hierarchy is built before the step begins.
        if default {
            self.hierarchies(run, id)?;
        }
        run.check(&key.text, |run| {
            run.within(step, |run| {
                let hierarchies = self.hierarchies(run, id)?;
                let entries = match default {
                    true => &hierarchies.default,
                    false => &hierarchies.main,
                };
                if entries.is_empty() {
                    run.not_found(&key.text);
                    return Ok(None);
                }
                merge_over(run, merge, entries, |run, entry| {
                    self.search_entry(run, entry, &layer, key, merge)
                })
            })
        })
    }

    /// The hierarchies, built again if a variable they depend on has changed.
    fn hierarchies(&self, run: &mut Run<'_>, id: &LayerId) -> Result<Arc<Hierarchies>, Error> {
        let Some(layer) = self.layer(run, id)? else {
            return Ok(Arc::new(Hierarchies {
                main: Vec::new(),
                default: Vec::new(),
                depends_on: Vec::new(),
            }));
        };
        if let Some(resolved) = &layer.resolved {
            let mut same = true;
            for (name, value) in &resolved.depends_on {
                same &= run.host.variable(name)? == *value;
            }
            if same {
                return Ok(resolved.clone());
            }
            run.explain(|it| {
                it.text(
                    "Hiera configuration recreated due to change of scope variables used in \
                     interpolation expressions",
                );
            });
        }
        let config = layer.config.clone();
        let main = match &config.plan_hierarchy {
            Some(plan) if self.settings.plan => plan,
            _ => &config.hierarchy,
        };
        let outer = run.depends_on.replace(Vec::new());
        let resolved = run.untold(|run| {
            let main = self.resolve(run, (layer.owner, &config), main)?;
            let default = config.default_hierarchy.as_deref().unwrap_or_default();
            Ok((main, self.resolve(run, (layer.owner, &config), default)?))
        });
        let depends_on = std::mem::replace(&mut run.depends_on, outer).unwrap_or_default();
        let (main, default) = resolved?;
        let resolved = Arc::new(Hierarchies {
            main,
            default,
            depends_on,
        });
        self.change_layer(id, |layer| layer.resolved = Some(resolved.clone()));
        Ok(resolved)
    }

    fn search_entry(
        &self,
        run: &mut Run<'_>,
        resolved: &Resolved,
        layer: &Layer,
        key: &LookupKey,
        merge: &Merge,
    ) -> Result<Option<Value>, Error> {
        let step = Step::Provider {
            name: format!("Hierarchy entry \"{}\"", resolved.entry.name),
            config: None,
        };
        run.within(step, |run| {
            let Some(places) = &resolved.places else {
                let found = self.search_place(run, resolved, None, layer, key)?;
                return Ok(found.map(|value| merge.single(value)));
            };
            merge_over(run, merge, places, |run, place| {
                let step = match &place.at {
                    At::Path { path, .. } => (false, path.display().to_string()),
                    At::Uri(uri) => (true, uri.clone()),
                };
                let step = Step::Location {
                    uri: step.0,
                    place: step.1,
                    original: place.original.clone(),
                };
                run.within(step, |run| {
                    self.search_place(run, resolved, Some(place), layer, key)
                })
            })
        })
    }
}

/// Merges the values of several locations into one.
pub(crate) fn merge_over<T>(
    run: &mut Run<'_>,
    merge: &Merge,
    places: &[T],
    mut search: impl FnMut(&mut Run<'_>, &T) -> Result<Option<Value>, Error>,
) -> Result<Option<Value>, Error> {
    if merge.takes_first() {
        for place in places {
            if let Some(value) = search(run, place)? {
                return Ok(Some(value));
            }
        }
        return Ok(None);
    }
    match places {
        [] => return Ok(None),
        [only] => return Ok(search(run, only)?.map(|value| merge.single(value))),
        _ => {}
    }
    let options = match merge {
        Merge::Deep { written, .. } => written.clone(),
        _ => Hash::new(),
    };
    let name = merge.name();
    run.within(Step::Merge { name, options }, |run| {
        let mut merged = None;
        for place in places {
            let Some(value) = search(run, place)? else {
                continue;
            };
            merged = Some(match merged {
                None => merge.start(value),
                Some(high) => merge.merge(&high, &value)?,
            });
        }
        if let Some(merged) = &merged {
            run.explain(|it| it.result(merged));
        }
        Ok(merged)
    })
}
