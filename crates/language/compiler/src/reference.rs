//! References to resources and classes: [`CatalogReference`].

use std::sync::Arc;

use pcore::{Type, TypeKind, Value};

use crate::names::{reference_name, split_reference};

/// A reference to a resource or class, as the catalog knows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CatalogReference {
    pub(crate) type_name: Arc<str>,
    pub(crate) title: Arc<str>,
}

impl CatalogReference {
    /// The reference in a type; `None` if it has no title.
    pub(crate) fn of(ty: &Type) -> Option<Self> {
        match ty.kind() {
            TypeKind::Class(Some(name)) => Some(Self {
                type_name: "Class".into(),
                title: reference_name(name),
            }),
            TypeKind::Resource {
                type_name: Some(type_name),
                title: Some(title),
            } if type_name.eq_ignore_ascii_case("class") => Some(Self {
                type_name: "Class".into(),
                title: reference_name(title),
            }),
            TypeKind::Resource {
                type_name: Some(type_name),
                title: Some(title),
            } => Some(Self {
                type_name: reference_name(type_name),
                title: Arc::clone(title),
            }),
            _ => None,
        }
    }

    /// The reference in a value of a relationship; `None` if it is not one.
    pub(crate) fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Type(ty) => Self::of(ty),
            Value::Str(text) => Self::of_text(text),
            _ => None,
        }
    }

    /// The reference in a text such as `File[/x]`; `None` if it is not one.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        let (type_name, title) = split_reference(text)?;
        let type_name = reference_name(type_name);
        let title = match *type_name == *"Class" {
            true => reference_name(title),
            false => title.into(),
        };
        Some(Self { type_name, title })
    }
}

/// The values of a relationship or of a list of references: nested lists are flat, and undef is left out.
pub(crate) fn flat_values(value: &Value) -> Vec<&Value> {
    fn flatten<'v>(value: &'v Value, into: &mut Vec<&'v Value>) {
        match value {
            Value::Undef => {}
            Value::Array(values) => values.iter().for_each(|value| flatten(value, into)),
            other => into.push(other),
        }
    }
    let mut values = Vec::new();
    flatten(value, &mut values);
    values
}

impl std::fmt::Display for CatalogReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]", self.type_name, self.title)
    }
}
