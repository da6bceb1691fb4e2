//! `lookup_options`: the merge and conversion of each key. Main type: [`KeyOptions`].

use std::sync::Arc;

use pcore::{Hash, Value};
use ruby_regex::Regex;

use crate::explain::{ExplainStep, plain_text};
use crate::key::LookupKey;
use crate::layer::{LayerId, merge_over};
use crate::lookup_run::LookupRun;
use crate::merge::MergeStrategy;
use crate::{Error, LookupSession};

pub(crate) const LOOKUP_OPTIONS: &str = "lookup_options";

/// The options of all keys: those of single keys, and those of patterns in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyOptions {
    keys: Hash,
    patterns: Vec<(Regex, Value)>,
}

impl KeyOptions {
    fn of(options: &Hash) -> Result<Self, Error> {
        let mut read = Self::default();
        for (key, value) in options.iter() {
            let name = plain_text(key);
            if name.starts_with('^') {
                let regex = Regex::new(&name).map_err(|error| Error::data(error.to_string()))?;
                read.patterns.push((regex, value.clone()));
            } else {
                read.keys.insert(name, value.clone());
            }
        }
        Ok(read)
    }

    /// The options of a key.
    pub(crate) fn options_of_key(&self, root: &str) -> Result<Option<Value>, Error> {
        match self.keys.get_str(root) {
            None | Some(Value::Undef) => {}
            found => return Ok(found.cloned()),
        }
        for (pattern, value) in &self.patterns {
            let matches = pattern.is_match(root);
            if matches.map_err(|error| Error::data(error.to_string()))? {
                return Ok(Some(value.clone()));
            }
        }
        Ok(None)
    }
}

impl LookupSession {
    /// The options of a key, merged from all layers that contain options for it.
    pub(crate) fn options_of(
        &self,
        run: &mut LookupRun<'_>,
        key: &LookupKey,
    ) -> Result<Hash, Error> {
        let of = (key.module.clone(), run.global_only);
        let known = self.data.borrow().options.get(&of).cloned();
        let all = match known {
            Some(all) => all,
            None => {
                let all = self.collect_options(run, key.module.as_deref())?;
                let all = Arc::new(KeyOptions::of(&all)?);
                self.data.borrow_mut().options.insert(of, all.clone());
                all
            }
        };
        match all.options_of_key(&key.root)? {
            Some(Value::Hash(options)) => Ok(Arc::unwrap_or_clone(options)),
            _ => Ok(Hash::new()),
        }
    }

    /// Searches for `lookup_options` only, for an explanation of them.
    pub(crate) fn collect_options(
        &self,
        run: &mut LookupRun<'_>,
        module: Option<&str>,
    ) -> Result<Hash, Error> {
        run.explain_within(
            || ExplainStep::Top(LOOKUP_OPTIONS.to_owned()),
            |run| {
                let known = self.data.borrow().global_options.clone();
                let global = match known {
                    Some(known) => known,
                    None => {
                        let found = self.layer_options(run, &LayerId::Global, None)?;
                        self.data.borrow_mut().global_options = Some(found.clone());
                        found
                    }
                };
                if run.global_only {
                    return Ok(global.unwrap_or_default());
                }
                let known = self.data.borrow().environment_options.clone();
                let environment = match known {
                    Some(known) => known,
                    None => {
                        let found = self.layer_options(run, &LayerId::Environment, None)?;
                        let merged = merge_options(global, found)?;
                        self.data.borrow_mut().environment_options = Some(merged.clone());
                        merged
                    }
                };
                let Some(module) = module else {
                    return Ok(environment.unwrap_or_default());
                };
                let own =
                    self.layer_options(run, &LayerId::Module(module.to_owned()), Some(module))?;
                let (Some(environment), Some(own)) = (&environment, &own) else {
                    return Ok(environment.or(own).unwrap_or_default());
                };
                let both = [
                    ("Global and Environment".to_owned(), environment.clone()),
                    (format!("Module {module}"), own.clone()),
                ];
                let found =
                    merge_over(run, &MergeStrategy::Hash, &both, |run, (name, options)| {
                        run.explain_within(
                            || ExplainStep::Scope(name.clone()),
                            |run| {
                                let options = Value::from(options.clone());
                                run.record_found(LOOKUP_OPTIONS, &options);
                                Ok(Some(options))
                            },
                        )
                    })?;
                match found {
                    Some(Value::Hash(options)) => Ok(Arc::unwrap_or_clone(options)),
                    _ => Ok(Hash::new()),
                }
            },
        )
    }

    fn layer_options(
        &self,
        run: &mut LookupRun<'_>,
        layer: &LayerId,
        module: Option<&str>,
    ) -> Result<Option<Hash>, Error> {
        let key = LookupKey::parse(LOOKUP_OPTIONS)?;
        let found = match layer {
            LayerId::Module(name) => self.search_module(run, name, &key, &MergeStrategy::Hash)?,
            layer => self.search_layer(run, layer, &key, &MergeStrategy::Hash, false)?,
        };
        validate_options(found, module)
    }

    /// The options of the `default_hierarchy` of a module for one of its keys.
    pub(crate) fn default_options_of(
        &self,
        run: &mut LookupRun<'_>,
        module: &str,
        key: &LookupKey,
    ) -> Result<MergeStrategy, Error> {
        let known = self.data.borrow().default_options.get(module).cloned();
        let all = match known {
            Some(all) => all,
            None => {
                let name = LookupKey::parse(LOOKUP_OPTIONS)?;
                let layer = LayerId::Module(module.to_owned());
                let text = format!("Searching for \"{LOOKUP_OPTIONS}\"");
                let found = run.explain_within(
                    || ExplainStep::Scope(text),
                    |run| self.search_layer(run, &layer, &name, &MergeStrategy::Hash, true),
                )?;
                let found = validate_options(found, Some(module))?.unwrap_or_default();
                let all = Arc::new(KeyOptions::of(&found)?);
                let mut known = self.data.borrow_mut();
                known.default_options.insert(module.to_owned(), all.clone());
                all
            }
        };
        match all.options_of_key(&key.root)? {
            Some(Value::Hash(options)) => {
                MergeStrategy::from_value(options.get_str("merge").unwrap_or(&Value::Undef))
            }
            _ => Ok(MergeStrategy::Default),
        }
    }
}

/// Checks that the options are a hash, and that a module's options concern only its own keys.
fn validate_options(found: Option<Value>, module: Option<&str>) -> Result<Option<Hash>, Error> {
    let options = match found {
        None | Some(Value::Undef) => return Ok(None),
        Some(Value::Hash(options)) => Arc::unwrap_or_clone(options),
        Some(_) => {
            let text = format!("value of {LOOKUP_OPTIONS} must be a hash");
            return Err(Error::lookup(text));
        }
    };
    let Some(module) = module else {
        return Ok(Some(options));
    };
    let prefix = format!("{module}::");
    for key in options.keys().map(plain_text) {
        let fault = match key.strip_prefix('^') {
            Some(pattern) if !pattern.starts_with(&prefix) => {
                "patterns must match a key starting with module name"
            }
            None if !key.starts_with(&prefix) => "keys must start with module name",
            _ => continue,
        };
        return Err(Error::lookup(format!(
            "all {LOOKUP_OPTIONS} {fault} '{module}'"
        )));
    }
    Ok(Some(options))
}

fn merge_options(high: Option<Hash>, low: Option<Hash>) -> Result<Option<Hash>, Error> {
    let (Some(high), Some(low)) = (&high, &low) else {
        return Ok(high.or(low));
    };
    let (high, low) = (Value::from(high.clone()), Value::from(low.clone()));
    match MergeStrategy::Hash.merge(&high, &low)? {
        Value::Hash(merged) => Ok(Some(Arc::unwrap_or_clone(merged))),
        _ => Ok(None),
    }
}
