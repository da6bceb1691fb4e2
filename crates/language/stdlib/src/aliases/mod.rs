//! The type aliases `Stdlib::..`: [`type_alias`] as text, [`named_type`] as types.
//!
//! The patterns are our own, for the values that stdlib's take; `tests/oracles` compares them. The rule
//! that must hold: names are found without regard to case, as Puppet's loaders do.

mod addresses;
mod names;
mod paths;
mod plain;

use std::collections::HashMap;
use std::sync::OnceLock;

use pcore::{Alias, Kind, Type};

pub(crate) use addresses::V4_NOSUBNET;
pub(crate) use names::{DNS_ZONE, EMAIL, FQDN};

/// A name with the type that it stands for.
type Definition = (&'static str, &'static str);

fn definitions() -> impl Iterator<Item = &'static Definition> {
    [
        addresses::ALIASES,
        names::ALIASES,
        paths::ALIASES,
        plain::ALIASES,
    ]
    .into_iter()
    .flatten()
}

struct Known {
    definition: &'static Definition,
    ty: OnceLock<Option<Type>>,
}

fn known(name: &str) -> Option<&'static Known> {
    static KNOWN: OnceLock<HashMap<String, Known>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        definitions()
            .map(|definition| {
                let ty = OnceLock::new();
                (definition.0.to_ascii_lowercase(), Known { definition, ty })
            })
            .collect()
    });
    known.get(&name.to_ascii_lowercase())
}

/// What an alias stands for, as a type expression.
#[must_use]
pub fn type_alias(name: &str) -> Option<&'static str> {
    known(name).map(|it| it.definition.1)
}

/// The names of all aliases.
pub fn type_alias_names() -> impl Iterator<Item = &'static str> {
    definitions().map(|(name, _)| *name)
}

/// The type of a name, for the host's `named_type`.
#[must_use]
pub fn named_type(name: &str) -> Option<Type> {
    let known = known(name)?;
    known.ty.get_or_init(|| made(known.definition)).clone()
}

fn made((name, text): &Definition) -> Option<Type> {
    let alias = Alias::declare(*name);
    let ty = Type::parse_with(text, &named_type).ok()?;
    alias.resolve(&ty).ok()?;
    Some(Kind::Alias(alias).into())
}
