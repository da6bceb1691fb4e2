//! The type aliases `Stdlib::..`: [`type_alias`] as text, [`named_type`] as types.
//!
//! The patterns are our own, for the values that stdlib's accept; `tests/oracles` compares them.
//! Invariant: names are found without regard to case, as in Puppet's loaders.

mod addresses;
mod definition;
mod names;
mod paths;
mod plain;

use definition::AliasDefinition;
use std::collections::HashMap;
use std::sync::OnceLock;

use pcore::{NamedTypeAlias, Type, TypeKind};

pub(crate) use addresses::V4_NOSUBNET;
pub(crate) use names::{DNS_ZONE, EMAIL, FQDN};

fn definitions() -> impl Iterator<Item = &'static AliasDefinition> {
    [
        addresses::ALIASES,
        names::ALIASES,
        paths::ALIASES,
        plain::ALIASES,
    ]
    .into_iter()
    .flatten()
}

struct ParsedAlias {
    definition: &'static AliasDefinition,
    ty: OnceLock<Option<Type>>,
}

fn known(name: &str) -> Option<&'static ParsedAlias> {
    static KNOWN: OnceLock<HashMap<String, ParsedAlias>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        definitions()
            .map(|definition| {
                let ty = OnceLock::new();
                (
                    definition.0.to_ascii_lowercase(),
                    ParsedAlias { definition, ty },
                )
            })
            .collect()
    });
    known.get(&name.to_ascii_lowercase())
}

/// The type expression of an alias; `None` if the name is not an alias.
#[must_use]
pub fn type_alias(name: &str) -> Option<&'static str> {
    known(name).map(|it| it.definition.1)
}

/// The names of all aliases, in the order of their tables.
pub fn type_alias_names() -> impl Iterator<Item = &'static str> {
    definitions().map(|(name, _)| *name)
}

/// The type of an alias, for the host's `named_type`; `None` if the name is not an alias.
#[must_use]
pub fn named_type(name: &str) -> Option<Type> {
    let known = known(name)?;
    known.ty.get_or_init(|| made(known.definition)).clone()
}

fn made((name, text): &AliasDefinition) -> Option<Type> {
    let alias = NamedTypeAlias::declare(*name);
    let ty = Type::parse_with(text, &named_type).ok()?;
    alias.resolve(&ty).ok()?;
    Some(TypeKind::Alias(alias).into())
}
