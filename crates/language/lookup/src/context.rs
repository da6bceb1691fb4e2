//! The context argument of a function that a hierarchy names: `Puppet::LookupContext`,
//! [`LookupContext`].

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use hiera::FunctionCall;
use pcore::{Hash, ObjectTypeDefinition, PuppetObject, Type, TypeKind, Value};

/// Name of the context's type in programs.
const NAME: &str = "Puppet::LookupContext";

/// Its methods, with the types of their parameters.
const METHODS: &[(&str, &str)] = &[
    ("not_found", "Callable[[0, 0], Undef]"),
    ("explain", "Callable[[0, 0, Callable[0, 0]], Undef]"),
    ("interpolate", "Callable[1, 1]"),
    ("cache", "Callable[[Optional[Scalar], Any], Any]"),
    (
        "cache_all",
        "Callable[[Hash[Optional[Scalar], Any]], Undef]",
    ),
    ("cache_has_key", "Callable[[Optional[Scalar]], Boolean]"),
    ("cached_value", "Callable[[Optional[Scalar]], Any]"),
    ("cached_entries", "Callable[0, 0, Optional[Callable]]"),
    (
        "cached_file_data",
        "Callable[String, Optional[Callable[1, 1]]]",
    ),
];

fn defined() -> Option<Type> {
    let ty = |text: &str| Type::parse(text).map(Value::Type).ok();
    let derived: Hash = [("type", ty("String[1]")?), ("kind", "derived".into())]
        .into_iter()
        .collect();
    let attributes: Hash = [
        ("environment_name", Value::hash(derived)),
        ("module_name", ty("Variant[String[1], Undef]")?),
    ]
    .into_iter()
    .collect();
    let methods = METHODS.iter().map(|(name, text)| Some((*name, ty(text)?)));
    let methods: Hash = methods.collect::<Option<Vec<_>>>()?.into_iter().collect();
    let object = ObjectTypeDefinition::declare(Some(NAME.into()));
    let parts = [("attributes", attributes), ("functions", methods)];
    let parts: Hash = parts
        .into_iter()
        .map(|(name, part)| (name, Value::hash(part)))
        .collect();
    object.define(&parts).ok()?;
    Some(TypeKind::Object(object).into())
}

/// The type of the context, if `name` is its name; for `EvaluationHost::named_type`.
#[must_use]
pub fn context_type(name: &str) -> Option<Type> {
    static TYPE: LazyLock<Option<Type>> = LazyLock::new(defined);
    if name.eq_ignore_ascii_case(NAME) {
        return TYPE.clone();
    }
    None
}

/// The place from which a function is called: an entry of a hierarchy and one of its locations. The
/// cached data of the function belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FunctionCallSite {
    function: String,
    config: Option<PathBuf>,
    entry: String,
    module: Option<String>,
    /// A path or a URI; `None` if the entry has no locations.
    data_location: Option<String>,
}

impl FunctionCallSite {
    pub(crate) fn of(call: &FunctionCall<'_>) -> Self {
        let place = call.options.get_str("path");
        let place = place.or_else(|| call.options.get_str("uri"));
        Self {
            function: call.function.to_owned(),
            config: call.config.map(PathBuf::from),
            entry: call.entry.to_owned(),
            module: call.module.map(str::to_owned),
            data_location: place.and_then(Value::as_str).map(str::to_owned),
        }
    }

    /// All of it as one text, for functions in other languages.
    pub(crate) fn text(&self) -> String {
        format!("{self:?}")
    }
}

/// The context object. Its host implements all methods, see `methods`.
#[derive(Debug)]
pub(crate) struct LookupContext {
    pub(crate) call_site: Arc<FunctionCallSite>,
    pub(crate) environment: Arc<str>,
}

impl PuppetObject for LookupContext {
    fn object_type(&self) -> Type {
        context_type(NAME).unwrap_or_else(Type::object)
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        match name {
            "environment_name" => Some(Value::from(&*self.environment)),
            "module_name" => Some(match &self.call_site.module {
                Some(module) => Value::from(module.as_str()),
                None => Value::Undef,
            }),
            _ => None,
        }
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        let other = other.as_any().downcast_ref::<Self>();
        other.is_some_and(|other| self.call_site == other.call_site)
    }

    fn init_hash(&self) -> Hash {
        let module = self.attribute("module_name").unwrap_or_default();
        [("module_name", module)].into_iter().collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_the_context_is_there() {
        let ty = context_type("Puppet::LookupContext").expect("a type");
        assert_eq!(ty.to_plain_string(), NAME);
        assert_eq!(context_type("Puppet::Other"), None);
    }
}
