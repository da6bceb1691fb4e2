//! The arguments of a call: [`LookupArguments`].

use evaluator::function::CallArguments;
use hiera::LookupRequest;
use pcore::{Hash, Type, Value};

/// The arguments of `lookup`, `hiera`, `hiera_array` or `hiera_hash`, in any of their forms.
#[derive(Debug, Default)]
pub(crate) struct LookupArguments {
    /// The name or names, as written in the call.
    pub(crate) name: Value,
    pub(crate) names: Vec<String>,
    pub(crate) value_type: Option<Type>,
    merge: Value,
    overrides: Hash,
    defaults: Hash,
    default: Option<Value>,
    /// True if there are paths that take precedence over those of a configuration of version 3.
    pub(crate) has_paths: bool,
}

impl LookupArguments {
    /// Parses `lookup(name, type, merge, default)`, `lookup(name, options)` or `lookup(options)`.
    pub(crate) fn lookup(call: &CallArguments<'_>) -> Self {
        if let Value::Hash(options) = call.get(0) {
            let name = options.get_str("name").cloned().unwrap_or_default();
            return Self::with_options(name, options);
        }
        let name = call.get(0).clone();
        if let Value::Hash(options) = call.get(1) {
            return Self::with_options(name, options);
        }
        Self {
            names: names(&name),
            name,
            value_type: call.get(1).as_type().cloned(),
            merge: call.get(2).clone(),
            default: call.arguments.get(3).cloned(),
            ..Self::default()
        }
    }

    fn with_options(name: Value, options: &Hash) -> Self {
        let hash = |key: &str| match options.get_str(key) {
            Some(Value::Hash(hash)) => Hash::clone(hash),
            _ => Hash::new(),
        };
        Self {
            names: names(&name),
            name,
            value_type: options
                .get_str("value_type")
                .and_then(Value::as_type)
                .cloned(),
            merge: options.get_str("merge").cloned().unwrap_or_default(),
            overrides: hash("override"),
            defaults: hash("default_values_hash"),
            default: options.get_str("default_value").cloned(),
            has_paths: false,
        }
    }

    /// Parses `hiera(key, default, override)`, all in a list, or with a block instead of the
    /// default.
    pub(crate) fn hiera(call: &CallArguments<'_>) -> Self {
        let arguments = match call.get(0) {
            Value::Array(arguments) => arguments.as_slice(),
            _ => &call.arguments,
        };
        let merge = match call.name {
            "hiera_array" => "unique",
            "hiera_hash" => "hash",
            _ => "first",
        };
        let (default, paths) = match call.block {
            Some(_) => (None, arguments.get(1)),
            None => (arguments.get(1), arguments.get(2)),
        };
        let name = arguments.first().cloned().unwrap_or_default();
        Self {
            names: names(&name),
            name,
            merge: Value::from(merge),
            default: default.cloned(),
            has_paths: match paths {
                None | Some(Value::Undef) => false,
                Some(Value::Array(paths)) => !paths.is_empty(),
                Some(_) => true,
            },
            ..Self::default()
        }
    }

    /// The request. If the call has a block, the block returns the default.
    pub(crate) fn request(&self, has_block: bool) -> LookupRequest<'_> {
        LookupRequest {
            names: &self.names,
            value_type: self.value_type.as_ref(),
            merge: self.merge.clone(),
            overrides: self.overrides.clone(),
            defaults: self.defaults.clone(),
            default: self.default.clone().filter(|_| !has_block),
            global_only: false,
        }
    }
}

fn names(name: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match name {
        Value::Array(names) => names.iter().map(text).collect(),
        name => vec![text(name)],
    }
}
