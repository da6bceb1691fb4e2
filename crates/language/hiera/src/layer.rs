//! The layers (global, environment, module) and the search through their entries.

use std::sync::Arc;

use pcore::{Hash, Value};

use crate::config::{ConfigLayer, HieraConfig};
use crate::explain::ExplainStep;
use crate::hierarchy_input::HierarchyInput;
use crate::key::LookupKey;
use crate::location::{DataLocation, DataSource, ResolvedEntry};
use crate::lookup_run::LookupRun;
use crate::merge::MergeStrategy;
use crate::{Error, LookupSession};

/// A configuration and, after its first use, its hierarchies.
#[derive(Debug, Clone)]
pub(crate) struct LookupLayer {
    pub(crate) config: Arc<HieraConfig>,
    pub(crate) owner: ConfigLayer,
    pub(crate) module: Option<String>,
    resolved: Option<Arc<ResolvedHierarchies>>,
}

#[derive(Debug)]
struct ResolvedHierarchies {
    main: Vec<ResolvedEntry>,
    default: Vec<ResolvedEntry>,
    /// Variables that were used to build the hierarchies, with their values.
    depends_on: Vec<HierarchyInput>,
}

/// Identifies a layer of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum LayerId {
    Global,
    Environment,
    Module(String),
}

impl LookupLayer {
    pub(crate) fn of(config: HieraConfig, owner: ConfigLayer, module: Option<String>) -> Self {
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
            (ConfigLayer::Global, _) => "Global ".to_owned(),
            (ConfigLayer::Environment, _) => "Environment ".to_owned(),
            (ConfigLayer::Module, module) => {
                format!("Module \"{}\" ", module.as_deref().unwrap_or_default())
            }
        };
        format!("{place}Data Provider (hiera configuration version {version})")
    }

    fn step(&self) -> ExplainStep {
        let config = self.config.path.as_ref();
        ExplainStep::Provider {
            name: self.name(),
            config: config.map(|path| path.display().to_string()),
        }
    }
}

impl LookupSession {
    /// Searches a layer, or the `default_hierarchy` of a module's layer.
    pub(crate) fn search_layer(
        &self,
        run: &mut LookupRun<'_>,
        id: &LayerId,
        key: &LookupKey,
        merge: &MergeStrategy,
        default: bool,
    ) -> Result<Option<Value>, Error> {
        let Some(layer) = self.layer(run, id)? else {
            return Ok(None);
        };
        // For defaults, the hierarchy is built before the step begins.
        if default {
            self.hierarchies(run, id)?;
        }
        run.check(&key.text, |run| {
            run.explain_within(
                || layer.step(),
                |run| {
                    let hierarchies = self.hierarchies(run, id)?;
                    let entries = match default {
                        true => &hierarchies.default,
                        false => &hierarchies.main,
                    };
                    if entries.is_empty() {
                        run.record_not_found(&key.text);
                        return Ok(None);
                    }
                    merge_over(run, merge, entries, |run, entry| {
                        self.search_entry(run, entry, &layer, key, merge)
                    })
                },
            )
        })
    }

    /// The hierarchies, built again if a variable they depend on has changed.
    fn hierarchies(
        &self,
        run: &mut LookupRun<'_>,
        id: &LayerId,
    ) -> Result<Arc<ResolvedHierarchies>, Error> {
        let Some(layer) = self.layer(run, id)? else {
            return Ok(Arc::new(ResolvedHierarchies {
                main: Vec::new(),
                default: Vec::new(),
                depends_on: Vec::new(),
            }));
        };
        if let Some(resolved) = &layer.resolved {
            let mut same = true;
            for input in &resolved.depends_on {
                same &= match input {
                    HierarchyInput::Variable(name, value) => run.host.variable(name)? == *value,
                    HierarchyInput::Fact(path, value) => {
                        let found = run.host.fact_at(path);
                        found.is_some_and(|(found, _)| found == *value)
                    }
                };
            }
            if same {
                return Ok(resolved.clone());
            }
            run.explain(|it| {
                it.record_text(
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
        let resolved = run.without_explanation(|run| {
            let main = self.resolve(run, (layer.owner, &config), main)?;
            let default = config.default_hierarchy.as_deref().unwrap_or_default();
            Ok((main, self.resolve(run, (layer.owner, &config), default)?))
        });
        let depends_on = std::mem::replace(&mut run.depends_on, outer).unwrap_or_default();
        let (main, default) = resolved?;
        let resolved = Arc::new(ResolvedHierarchies {
            main,
            default,
            depends_on,
        });
        self.change_layer(id, |layer| layer.resolved = Some(resolved.clone()));
        Ok(resolved)
    }

    fn search_entry(
        &self,
        run: &mut LookupRun<'_>,
        resolved: &ResolvedEntry,
        layer: &LookupLayer,
        key: &LookupKey,
        merge: &MergeStrategy,
    ) -> Result<Option<Value>, Error> {
        let step = || ExplainStep::Provider {
            name: format!("Hierarchy entry \"{}\"", resolved.entry.name),
            config: None,
        };
        run.explain_within(step, |run| {
            let Some(places) = &resolved.locations else {
                let found = self.search_location(run, resolved, None, layer, key)?;
                return Ok(found.map(|value| merge.apply_to_single(value)));
            };
            merge_over(run, merge, places, |run, place| {
                run.explain_within(
                    || location_step(place),
                    |run| self.search_location(run, resolved, Some(place), layer, key),
                )
            })
        })
    }
}

fn location_step(place: &DataLocation) -> ExplainStep {
    let (uri, text) = match &place.source {
        DataSource::Path { path, .. } => (false, path.display().to_string()),
        DataSource::Uri(uri) => (true, uri.clone()),
    };
    ExplainStep::Location {
        uri,
        place: text,
        original: place.original.clone(),
    }
}

/// Merges the values of several locations into one.
pub(crate) fn merge_over<T>(
    run: &mut LookupRun<'_>,
    merge: &MergeStrategy,
    places: &[T],
    mut search: impl FnMut(&mut LookupRun<'_>, &T) -> Result<Option<Value>, Error>,
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
        [only] => return Ok(search(run, only)?.map(|value| merge.apply_to_single(value))),
        _ => {}
    }
    let step = || ExplainStep::Merge {
        name: merge.name(),
        options: match merge {
            MergeStrategy::Deep { written, .. } => written.clone(),
            _ => Hash::new(),
        },
    };
    run.explain_within(step, |run| {
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
            run.explain(|it| it.record_result(merged));
        }
        Ok(merged)
    })
}
