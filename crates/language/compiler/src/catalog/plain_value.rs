//! Values of attributes without rich data: [`PlainConverter`].
//!
//! Values that JSON does not have become texts, each with the message that Puppet logs about it; with
//! `strict = error` the first of them is the error of the document.
//! Invariant: the texts and messages are those of Puppet's `ToDataConverter` with `rich_data` off.

use std::cell::RefCell;
use std::fmt;

use evaluator::ruby;
use pcore::{Hash, Value};
use serde_json::{Map, Value as Json, json};

use super::CatalogResource;
use crate::defaults::{LOGS_MAX, PATH_BYTES_MAX};
use crate::error::{clip, location_text};
use crate::reference::CatalogReference;

/// A value that became a text, because the document has no rich data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainConversion {
    /// Message of Puppet, with attribute, class and text of the value.
    pub message: String,
    /// `(file: a.pp, line: 1)` of the resource; empty if it is unknown.
    pub place: String,
}

impl PlainConversion {
    /// The error of a Puppet server with `strict = error`, the default of Puppet 8.
    #[must_use]
    pub fn as_error(&self) -> String {
        format!("Could not render to json: Evaluation Error: {self}")
    }
}

impl fmt::Display for PlainConversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.place.as_str() {
            "" => Ok(()),
            place => write!(f, " {place}"),
        }
    }
}

/// The first conversions of a document.
#[derive(Debug, Default)]
pub(super) struct PlainConversions(RefCell<Vec<PlainConversion>>);

impl PlainConversions {
    pub(super) fn into_list(self) -> Vec<PlainConversion> {
        self.0.into_inner()
    }

    fn add(&self, resource: &CatalogResource, message: impl FnOnce() -> String) {
        let mut list = self.0.borrow_mut();
        if list.len() < LOGS_MAX {
            list.push(PlainConversion {
                message: clip(&message()).to_owned(),
                place: location_text(&resource.location),
            });
        }
    }
}

/// Converts the attributes of one resource.
pub(super) struct PlainConverter<'c> {
    resource: &'c CatalogResource,
    conversions: &'c PlainConversions,
    /// Path of the current value, such as `['message'][0]`.
    path: String,
}

impl<'c> PlainConverter<'c> {
    pub(super) fn new(resource: &'c CatalogResource, conversions: &'c PlainConversions) -> Self {
        Self {
            resource,
            conversions,
            path: String::new(),
        }
    }

    /// The value of an attribute as JSON.
    pub(super) fn attribute(mut self, name: &str, value: &Value) -> Json {
        self.inside(&key_segment(name), |this| this.convert(value))
    }

    fn convert(&mut self, value: &Value) -> Json {
        match value {
            Value::Undef | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
                value.to_json().unwrap_or_default()
            }
            Value::Default => {
                self.report(
                    "contains the special value default. It will be converted to the String",
                    "default",
                );
                json!("default")
            }
            Value::Array(values) => {
                let values = values.iter().enumerate().map(|(index, value)| {
                    self.inside(&format!("[{index}]"), |this| this.convert(value))
                });
                Json::Array(values.collect())
            }
            Value::Hash(entries) => self.hash(entries),
            Value::Sensitive(inner) => {
                json!({"__ptype": "Sensitive", "__pvalue": self.convert(inner)})
            }
            other => self.text(other),
        }
    }

    fn hash(&mut self, entries: &Hash) -> Json {
        let mut map = Map::with_capacity(entries.len());
        for (key, value) in entries.iter() {
            let key = self.key(key);
            let value = self.inside(&key_segment(&key), |this| this.convert(value));
            map.insert(key, value);
        }
        Json::Object(map)
    }

    fn key(&self, key: &Value) -> String {
        match key {
            Value::Str(text) => text.to_string(),
            Value::Default => "default".to_owned(),
            other => match reference(other) {
                Some(reference) => reference,
                None => {
                    let text = ruby_text(other);
                    let class = ruby::with_article(&class_label(other));
                    let what = format!(
                        "contains a hash with {class} key. It will be converted to the String"
                    );
                    self.report(&what, &text);
                    text
                }
            },
        }
    }

    fn text(&self, value: &Value) -> Json {
        if let Some(reference) = reference(value) {
            return Json::String(reference);
        }
        let text = ruby_text(value);
        let class = ruby::with_article(&class_label(value));
        let what = format!("contains {class} value. It will be converted to the String");
        self.report(&what, &text);
        Json::String(text)
    }

    fn report(&self, what: &str, text: &str) {
        let Self { resource, path, .. } = self;
        let report = || format!("{resource}{path} {what} '{}'", clip(text));
        self.conversions.add(resource, report);
    }

    fn inside<T>(&mut self, segment: &str, convert: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        // only the start of a long path is reported
        if length < PATH_BYTES_MAX {
            self.path.push_str(segment);
        }
        let converted = convert(self);
        self.path.truncate(length);
        converted
    }
}

fn key_segment(key: &str) -> String {
    format!("[{}]", pcore::quote(key))
}

fn reference(value: &Value) -> Option<String> {
    Some(CatalogReference::of(value.as_type()?)?.to_string())
}

/// Ruby's `to_s`, and a regular expression between slashes.
fn ruby_text(value: &Value) -> String {
    match value {
        Value::Regexp(_) => value.to_string(),
        other => ruby::to_s(other),
    }
}

/// Name of the class in the messages.
fn class_label(value: &Value) -> String {
    match value {
        Value::Type(ty) => format!("{}-Type", ty.simple_name()),
        Value::Object(object) => object.object_type().name(),
        other => ruby::class_name(other),
    }
}
