//! Lookups of one compilation or plan: [`LookupSession`].

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcore::{FastHashMap, Hash, Type, Value};

use crate::config::{ConfigLayer, HieraConfig};
use crate::data::DataFormat;
use crate::defaults::FOUND_KEYS_MAX;
use crate::explain::ExplainStep;
use crate::interpolate::MethodUse;
use crate::key::LookupKey;
use crate::layer::{LayerId, LookupLayer, merge_over};
use crate::lookup_run::LookupRun;
use crate::lookup_trail::LookupTrail;
use crate::merge::MergeStrategy;
use crate::options::{KeyOptions, LOOKUP_OPTIONS};
use crate::{DataFileCache, Error, LookupHost};

/// The locations of configurations, and the strictness.
#[derive(Debug, Clone, Default)]
pub struct HieraSettings {
    /// Path of the global `hiera.yaml`, which need not exist; `None` for no global layer.
    pub global_config: Option<PathBuf>,
    /// The environment's directory; `None` for no environment layer.
    pub environment_root: Option<PathBuf>,
    /// True to use `plan_hierarchy` if there is one.
    pub plan: bool,
    /// True if a data file without a hash is an error, not a warning.
    pub strict: bool,
    /// True if the data of node groups are the first level of a global layer without a `hiera.yaml`.
    pub has_classifier_data: bool,
}

/// The parameters of a lookup.
#[derive(Debug, Clone, Default)]
pub struct LookupRequest<'r> {
    /// The names to look up; the first that has a value counts.
    pub names: &'r [String],
    /// The type that the value must have; `None` for any.
    pub value_type: Option<&'r Type>,
    /// A strategy's name, or a hash with `strategy` and options; undefined to use `lookup_options`.
    pub merge: Value,
    /// Values by name that take precedence over all data.
    pub overrides: Hash,
    /// Values by name for names without data.
    pub defaults: Hash,
    /// The value if no other is found; `None` if there is no default.
    pub default: Option<Value>,
    /// True to search the global layer only, as the functions of Hiera 3 do if the environment has
    /// no configuration of version 5.
    pub global_only: bool,
}

impl LookupRequest<'_> {
    /// Puppet's message for names without a value.
    #[must_use]
    pub fn not_found(&self) -> String {
        if let [name] = self.names {
            return format!("Function lookup() did not find a value for the name '{name}'");
        }
        let names: Vec<String> = self.names.iter().map(|name| format!("'{name}'")).collect();
        let names = names.join(", ");
        format!("Function lookup() did not find a value for any of the names [{names}]")
    }
}

/// The state that lookups of one compilation or plan share. A host may perform lookups while the
/// session calls it: nothing is borrowed then.
#[derive(Debug)]
pub struct LookupSession {
    pub(crate) settings: HieraSettings,
    pub(crate) cache: Arc<DataFileCache>,
    pub(crate) data: RefCell<SessionData>,
}

/// The data that a session has read; it does not notice changes of files.
#[derive(Debug, Default)]
pub(crate) struct SessionData {
    layers: FastHashMap<LayerId, Option<LookupLayer>>,
    pub(crate) files: FastHashMap<(PathBuf, DataFormat), Arc<Hash>>,
    /// Keyed by the module of the key, and by `global_only`.
    pub(crate) options: FastHashMap<(Option<String>, bool), Arc<KeyOptions>>,
    pub(crate) global_options: Option<Option<Hash>>,
    pub(crate) environment_options: Option<Option<Hash>>,
    pub(crate) default_options: FastHashMap<String, Arc<KeyOptions>>,
    /// The keys that had values.
    found_keys: BTreeSet<String>,
}

impl SessionData {
    fn record_found(&mut self, key: &str) {
        if self.found_keys.len() < FOUND_KEYS_MAX && !self.found_keys.contains(key) {
            self.found_keys.insert(key.to_owned());
        }
    }
}

impl LookupSession {
    #[must_use]
    pub fn new(settings: HieraSettings, cache: Arc<DataFileCache>) -> Self {
        Self {
            settings,
            cache,
            data: RefCell::default(),
        }
    }

    /// The keys for which lookups have found values until now, in alphabetical order; not more than
    /// [`FOUND_KEYS_MAX`].
    pub fn found_keys(&self) -> Vec<String> {
        self.data.borrow().found_keys.iter().cloned().collect()
    }

    /// Performs a lookup; `None` if nothing was found and the request has no default.
    pub fn lookup(
        &self,
        host: &mut dyn LookupHost,
        request: &LookupRequest<'_>,
        trail: &LookupTrail,
    ) -> Result<Option<Value>, Error> {
        let mut run = LookupRun::new(host, trail, &request.overrides, &request.defaults);
        run.global_only = request.global_only;
        let typed = |subject: &str, value: Value| match request.value_type {
            None => Ok(Some(value)),
            Some(expected) => match pcore::assert_instance(subject, expected, &value) {
                Ok(()) => Ok(Some(value)),
                Err(mismatch) => Err(Error::data(mismatch.to_string())),
            },
        };
        for name in request.names {
            if let Some(value) = request.overrides.get_str(name) {
                let subject = format!("Value found for key '{name}' in override hash");
                return typed(&subject, value.clone());
            }
            if let Some(value) = self.search(&mut run, name, &request.merge)? {
                return typed("Found value", value);
            }
        }
        for name in request.names {
            if let Some(value) = request.defaults.get_str(name) {
                let subject = format!("Value found for key '{name}' in default values hash");
                return typed(&subject, value.clone());
            }
        }
        match &request.default {
            Some(value) => typed("Default value", value.clone()),
            None => Ok(None),
        }
    }

    /// Interpolates the expressions in a value, for a function that a hierarchy names.
    pub fn interpolate_value(
        &self,
        host: &mut dyn LookupHost,
        value: &Value,
        (overrides, defaults): (&Hash, &Hash),
        trail: &LookupTrail,
    ) -> Result<Value, Error> {
        let mut run = LookupRun::new(host, trail, overrides, defaults);
        self.interpolate(&mut run, value, MethodUse::Allowed)
    }

    /// The versions of the global configuration and of the environment's; `None` for a missing
    /// layer.
    pub fn versions(&self, host: &mut dyn LookupHost) -> Result<(Option<i64>, Option<i64>), Error> {
        let (trail, none) = (LookupTrail::new(), Hash::new());
        let mut run = LookupRun::new(host, &trail, &none, &none);
        let mut version = |id: &LayerId| -> Result<Option<i64>, Error> {
            let layer = self.layer(&mut run, id)?;
            Ok(layer.map(|layer| layer.config.version))
        };
        Ok((version(&LayerId::Global)?, version(&LayerId::Environment)?))
    }

    /// Searches one name through all layers.
    pub(crate) fn search(
        &self,
        run: &mut LookupRun<'_>,
        name: &str,
        merge: &Value,
    ) -> Result<Option<Value>, Error> {
        if name == LOOKUP_OPTIONS || name.starts_with("lookup_options.") {
            return run.explain_within(
                || ExplainStep::InvalidKey(LOOKUP_OPTIONS.to_owned()),
                |_| Ok(None),
            );
        }
        let key = LookupKey::parse(name)?;
        if run.only_options() {
            let options = LookupKey::parse(LOOKUP_OPTIONS)?;
            let module = key.module.as_deref();
            self.search_layers(run, module, &options, &MergeStrategy::Hash)?;
            return Ok(Some(Value::Undef));
        }
        let options = self.options_of(run, &key)?;
        let merge = match (merge, options.get_str("merge")) {
            (Value::Undef, Some(merge)) if *merge != Value::Undef => {
                run.explain_within(|| ExplainStep::MergeSource, |_| Ok(()))?;
                merge.clone()
            }
            _ => merge.clone(),
        };
        let found = run.explain_within(
            || ExplainStep::Top(key.text.clone()),
            |run| {
                let merge = MergeStrategy::from_value(&merge)?;
                let found = self.search_layers(run, key.module.as_deref(), &key, &merge)?;
                if let Some(value) = found {
                    return key.dig(run, value);
                }
                match &key.module {
                    Some(module) if !run.global_only => self.search_defaults(run, module, &key),
                    _ => Ok(None),
                }
            },
        )?;
        let Some(value) = found else {
            return Ok(None);
        };
        self.data.borrow_mut().record_found(&key.text);
        match options.get_str("convert_to") {
            None | Some(Value::Undef) => Ok(Some(value)),
            Some(convert_to) => convert(run, &key, value, convert_to).map(Some),
        }
    }

    fn search_layers(
        &self,
        run: &mut LookupRun<'_>,
        module: Option<&str>,
        key: &LookupKey,
        merge: &MergeStrategy,
    ) -> Result<Option<Value>, Error> {
        if run.global_only {
            let found = self.search_layer(run, &LayerId::Global, key, merge, false);
            return found.map_err(|error| with_global_hint(error, key));
        }
        let layers = [
            LayerId::Global,
            LayerId::Environment,
            // Without a module this layer takes part too, and is empty.
            LayerId::Module(module.unwrap_or_default().to_owned()),
        ];
        merge_over(run, merge, &layers, |run, layer| match layer {
            LayerId::Module(module) => self.search_module(run, module, key, merge),
            LayerId::Global => self
                .search_layer(run, layer, key, merge, false)
                .map_err(|error| with_global_hint(error, key)),
            LayerId::Environment => self.search_layer(run, layer, key, merge, false),
        })
    }

    pub(crate) fn search_module(
        &self,
        run: &mut LookupRun<'_>,
        module: &str,
        key: &LookupKey,
        merge: &MergeStrategy,
    ) -> Result<Option<Value>, Error> {
        if module.is_empty() {
            return Ok(None);
        }
        let id = LayerId::Module(module.to_owned());
        if self.layer(run, &id)?.is_none() {
            if run.is_explained() {
                let known = run.host.module_root(module).is_some();
                run.explain(|it| it.record_missing_module(module, known));
            }
            return Ok(None);
        }
        self.search_layer(run, &id, key, merge, false)
    }

    /// Searches the `default_hierarchy` of a module, if no layer has a value.
    fn search_defaults(
        &self,
        run: &mut LookupRun<'_>,
        module: &str,
        key: &LookupKey,
    ) -> Result<Option<Value>, Error> {
        let id = LayerId::Module(module.to_owned());
        let layer = self.layer(run, &id)?;
        if layer.is_none_or(|layer| layer.config.default_hierarchy.is_none()) {
            return Ok(None);
        }
        let text = format!("Searching default_hierarchy of module \"{module}\"");
        let found = run.explain_within(
            || ExplainStep::Scope(text),
            |run| {
                let merge = self.default_options_of(run, module, key)?;
                let text = format!("Searching for \"{}\"", key.text);
                run.explain_within(
                    || ExplainStep::Scope(text),
                    |run| self.search_layer(run, &id, key, &merge, true),
                )
            },
        )?;
        match found {
            Some(value) => key.dig(run, value),
            None => Ok(None),
        }
    }

    /// A layer, read at first use.
    pub(crate) fn layer(
        &self,
        run: &mut LookupRun<'_>,
        id: &LayerId,
    ) -> Result<Option<LookupLayer>, Error> {
        if let Some(known) = self.data.borrow().layers.get(id) {
            return Ok(known.clone());
        }
        let layer = self.read_layer(run, id)?;
        let mut known = self.data.borrow_mut();
        known.layers.insert(id.clone(), layer.clone());
        Ok(layer)
    }

    /// Changes the stored state of a layer.
    pub(crate) fn change_layer(&self, id: &LayerId, change: impl FnOnce(&mut LookupLayer)) {
        if let Some(Some(layer)) = self.data.borrow_mut().layers.get_mut(id) {
            change(layer);
        }
    }

    /// The global layer without a `hiera.yaml`.
    fn default_global_config(&self, root: &Path) -> HieraConfig {
        let mut config = HieraConfig::default_config(root);
        if self.settings.has_classifier_data {
            config.add_classifier_data();
        }
        config
    }

    fn read_layer(
        &self,
        run: &mut LookupRun<'_>,
        id: &LayerId,
    ) -> Result<Option<LookupLayer>, Error> {
        let (path, owner, module) = match id {
            LayerId::Global => (
                self.settings.global_config.clone(),
                ConfigLayer::Global,
                None,
            ),
            LayerId::Environment => {
                let root = self.settings.environment_root.as_ref();
                let path = root.map(|root| root.join("hiera.yaml"));
                (path, ConfigLayer::Environment, None)
            }
            LayerId::Module(name) => {
                let root = run.host.module_root(name);
                let path = root.map(|root| root.join("hiera.yaml"));
                (path, ConfigLayer::Module, Some(name.clone()))
            }
        };
        let Some(path) = path else { return Ok(None) };
        if owner == ConfigLayer::Global {
            run.host.note_global_path(&path);
        }
        if run.host.identity(&path).is_none() {
            let root = path.parent().unwrap_or(Path::new("/"));
            let standard = (owner == ConfigLayer::Global)
                .then(|| self.default_global_config(root))
                .map(|config| LookupLayer::of(config, owner, module));
            return Ok(standard);
        }
        let data = self.cache.load(run.host, &path, DataFormat::Yaml)?;
        let config = HieraConfig::of(&path, &data, owner)?;
        Ok(Some(LookupLayer::of(config, owner, module)))
    }
}

fn with_global_hint(error: Error, key: &LookupKey) -> Error {
    match error.kind() {
        Error::Data(_) | Error::Recursive { .. } | Error::Nesting { .. } => {
            let name = &key.text;
            Error::data(format!("Lookup of key '{name}' failed: {error}"))
        }
        _ => error,
    }
}

fn convert(
    run: &mut LookupRun<'_>,
    key: &LookupKey,
    value: Value,
    convert_to: &Value,
) -> Result<Value, Error> {
    let mut arguments = match convert_to {
        Value::Array(arguments) => arguments.to_vec(),
        other => vec![other.clone()],
    };
    let name = &key.text;
    if let Some(Value::Str(text)) = arguments.first() {
        let ty = run.host.type_of(text).map_err(|error| {
            Error::lookup(format!(
                "Invalid data type in lookup_options for key '{name}' could not parse '{text}', \
                 error: '{error}"
            ))
        })?;
        arguments[0] = ty;
    }
    let converted = run.host.convert(value, &arguments).map_err(|error| {
        Error::lookup(format!(
            "The convert_to lookup_option for key '{name}' raised error: {error}"
        ))
    })?;
    run.explain(|it| {
        let arguments = Value::array(arguments).to_string();
        it.record_text(format!(
            "Applying convert_to lookup_option with arguments {arguments}"
        ));
    });
    Ok(converted)
}
