//! Values of attributes in a document: [`DocumentValue`], in a [`DocumentForm`].
//!
//! Invariant: references to resources are texts, and lists that contain them are flat, as in Puppet.

use std::borrow::Cow;

use pcore::{Hash, Value};
use serde::Serialize;
use serde::ser::{Error as _, SerializeMap as _, Serializer};

use crate::reference::CatalogReference;

/// The attributes whose lists are flat and have no undef.
const RELATIONSHIPS: [&str; 4] = ["before", "subscribe", "notify", "require"];

/// The key that distinguishes rich data.
const TYPE_KEY: &str = "__ptype";

/// The representation of values that JSON does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentForm {
    /// Rich data: objects with `__ptype`, as Puppet writes it unless its setting `rich_data` is off.
    Rich,
    /// Texts without a type, as PuppetDB stores them.
    Texts,
}

/// A value in one form.
pub(super) struct DocumentValue<'v> {
    value: Cow<'v, Value>,
    form: DocumentForm,
}

impl<'v> DocumentValue<'v> {
    pub(super) fn of_attribute(name: &str, value: &'v Value, form: DocumentForm) -> Self {
        let value = flat_attribute(name, value);
        Self { value, form }
    }

    fn inside(value: &'v Value, form: DocumentForm) -> Self {
        Self {
            value: Cow::Borrowed(value),
            form,
        }
    }
}

/// The value of an attribute, with lists flat where Puppet makes them so.
pub(super) fn flat_attribute<'v>(name: &str, value: &'v Value) -> Cow<'v, Value> {
    let is_relationship = RELATIONSHIPS.contains(&name);
    match value {
        Value::Array(values) if is_relationship || values.iter().any(has_reference) => {
            Cow::Owned(flattened(values, is_relationship))
        }
        other => Cow::Borrowed(other),
    }
}

impl Serialize for DocumentValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = self.form;
        match &*self.value {
            Value::Undef => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::Str(text) => serializer.serialize_str(text),
            Value::Array(values) => serializer.collect_seq(
                values
                    .iter()
                    .map(|value| DocumentValue::inside(value, form)),
            ),
            Value::Hash(entries) if is_plain(entries) || form == DocumentForm::Texts => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries.iter() {
                    let value = DocumentValue::inside(value, form);
                    match key {
                        Value::Str(text) => map.serialize_entry(&**text, &value)?,
                        other => map.serialize_entry(&other.to_string(), &value)?,
                    }
                }
                map.end()
            }
            other => match (other.as_type().and_then(CatalogReference::of), form) {
                (Some(reference), _) => serializer.collect_str(&reference),
                (None, DocumentForm::Rich) => match with_reference_texts(other).to_rich_json() {
                    Ok(json) => json.serialize(serializer),
                    Err(error) => Err(S::Error::custom(error)),
                },
                (None, DocumentForm::Texts) => match other.to_json() {
                    Ok(json) => json.serialize(serializer),
                    Err(_) => serializer.collect_str(other),
                },
            },
        }
    }
}

/// True if all keys are texts that rich data does not use.
fn is_plain(entries: &Hash) -> bool {
    let is_plain = |key: &Value| key.as_str().is_some_and(|key| key != TYPE_KEY);
    entries.keys().all(is_plain)
}

/// True for a reference, and for a list that contains one.
fn has_reference(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(has_reference),
        other => reference(other).is_some(),
    }
}

fn reference(value: &Value) -> Option<CatalogReference> {
    CatalogReference::of(value.as_type()?)
}

/// The values of nested lists in one list, without undef for relationships.
fn flattened(values: &[Value], is_relationship: bool) -> Value {
    fn flatten(values: &[Value], is_relationship: bool, into: &mut Vec<Value>) {
        for value in values {
            match value {
                Value::Array(inner) => flatten(inner, is_relationship, into),
                Value::Undef if is_relationship => {}
                other => into.push(other.clone()),
            }
        }
    }
    let mut flat = Vec::with_capacity(values.len());
    flatten(values, is_relationship, &mut flat);
    Value::array(flat)
}

/// The value with references as texts, for hashes that are written as rich data.
fn with_reference_texts(value: &Value) -> Value {
    match value {
        Value::Array(values) => Value::array(values.iter().map(with_reference_texts).collect()),
        Value::Hash(entries) => {
            let entries = entries.iter();
            let texts = entries
                .map(|(key, value)| (with_reference_texts(key), with_reference_texts(value)));
            Value::hash(texts.collect())
        }
        other => match reference(other) {
            Some(reference) => Value::from(reference.to_string()),
            None => other.clone(),
        },
    }
}
