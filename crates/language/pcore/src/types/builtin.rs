//! The types that every program can name: [`Type::builtin`].

use std::sync::{Arc, LazyLock};

use super::{NamedTypeAlias, Type};

impl Type {
    /// The type that Puppet itself defines under a name in any case: `Integer`, `Data`, `Error`.
    /// Resource types are not included.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let lower = name.strip_prefix("::").unwrap_or(name).to_lowercase();
        Some(match lower.as_str() {
            "any" => Self::any(),
            "array" => Self::array(),
            "binary" => Self::binary(),
            "boolean" => Self::boolean(),
            "callable" => Self::callable(),
            "catalogentry" => Self::catalog_entry(),
            "class" => Self::class(),
            "collection" => Self::collection(),
            "data" => Self::data(),
            "default" => Self::default_type(),
            "enum" => Self::any_enum(),
            "float" => Self::float(),
            "hash" => Self::hash(),
            "init" => Self::init(),
            "integer" => Self::integer(),
            "iterable" => Self::iterable(),
            "iterator" => Self::iterator(),
            "notundef" => Self::not_undef(),
            "numeric" => Self::numeric(),
            "object" => Self::object(),
            "optional" => Self::optional(),
            "pattern" => Self::any_pattern(),
            "regexp" => Self::regexp(),
            "resource" => Self::resource(),
            "richdata" => Self::rich_data(),
            "richdatakey" => Self::rich_data_key(),
            "puppet::lookupkey" => Self::lookup_key(),
            "puppet::lookupvalue" => Self::lookup_value(),
            "runtime" => Self::runtime(),
            "scalar" => Self::scalar(),
            "scalardata" => Self::scalar_data(),
            "semver" => Self::semver(),
            "semverrange" => Self::semver_range(),
            "sensitive" => Self::sensitive(),
            "string" => Self::string(),
            "struct" => Self::any_struct(),
            "timespan" => Self::timespan(),
            "timestamp" => Self::timestamp(),
            "tuple" => Self::tuple(),
            "type" => Self::type_type(),
            "typealias" => Self::any_alias(),
            "typereference" => Self::reference("UnresolvedReference"),
            "typeset" => Self::type_set(),
            "undef" => Self::undef(),
            "uri" => Self::uri(),
            "variant" => Self::any_variant(),
            _ => return super::native::by_name(&lower),
        })
    }

    /// The type `Data`: values that JSON can represent.
    #[must_use]
    pub fn data() -> Self {
        static DATA: LazyLock<Type> = LazyLock::new(|| {
            recursive("Data", |data| {
                Type::variant_of(vec![
                    Type::scalar_data(),
                    Type::undef(),
                    Type::hash_of(Type::string(), data.clone()),
                    Type::array_of(data),
                ])
            })
        });
        DATA.clone()
    }

    /// The type `RichDataKey`: keys of hashes in rich data.
    #[must_use]
    pub fn rich_data_key() -> Self {
        static KEY: LazyLock<Type> = LazyLock::new(|| {
            recursive("RichDataKey", |_| {
                Type::variant_of(vec![Type::string(), Type::numeric()])
            })
        });
        KEY.clone()
    }

    /// The type `RichData`: values that a catalog can contain.
    #[must_use]
    pub fn rich_data() -> Self {
        static RICH: LazyLock<Type> = LazyLock::new(|| {
            recursive("RichData", |rich| {
                Type::variant_of(vec![
                    Type::scalar(),
                    Type::semver_range(),
                    Type::binary(),
                    Type::sensitive(),
                    Type::type_type(),
                    Type::type_set(),
                    Type::uri(),
                    Type::object(),
                    Type::undef(),
                    Type::default_type(),
                    Type::hash_of(Type::rich_data_key(), rich.clone()),
                    Type::array_of(rich),
                ])
            })
        });
        RICH.clone()
    }

    fn lookup_key() -> Self {
        static KEY: LazyLock<Type> =
            LazyLock::new(|| recursive("Puppet::LookupKey", |_| Type::rich_data_key()));
        KEY.clone()
    }

    fn lookup_value() -> Self {
        static VALUE: LazyLock<Type> =
            LazyLock::new(|| recursive("Puppet::LookupValue", |_| Type::rich_data()));
        VALUE.clone()
    }

    fn any_alias() -> Self {
        static ALIAS: LazyLock<Type> = LazyLock::new(|| {
            recursive("UnresolvedAlias", |_| {
                Type::reference("UnresolvedReference")
            })
        });
        ALIAS.clone()
    }
}

/// Creates an alias that may contain itself. The aliases of this file always resolve.
fn recursive(name: &str, body: impl FnOnce(Type) -> Type) -> Type {
    let alias = NamedTypeAlias::declare(name);
    let ty = Type::from(Arc::clone(&alias));
    let _ = alias.resolve_as(body(ty.clone()));
    ty
}
