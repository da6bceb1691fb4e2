//! Reads the keys of a group one by one. Main type: [`GroupFields`].

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{ClassesDelta, ParametersDelta};
use crate::NodeGroupRule;
use crate::defaults::{DESCRIPTION_BYTES, GROUP_DATA_BYTES, NAME_BYTES};
use crate::group::GroupId;

/// The input is not a valid group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", if place.is_empty() { "the body" } else { place })]
pub struct SchemaError {
    /// Position in the JSON, for example `classes.apache`; empty for the whole input.
    pub place: String,
    /// Description of the defect and of the expected value.
    pub what: String,
}

/// The keys that have not been read yet.
pub(super) struct GroupFields<'a> {
    place: String,
    object: &'a Map<String, Value>,
    unread: Vec<&'a str>,
}

impl SchemaError {
    pub(super) fn new(place: &str, what: impl Into<String>) -> Self {
        Self {
            place: place.to_owned(),
            what: what.into(),
        }
    }
}

impl<'a> GroupFields<'a> {
    pub(super) fn new(json: &'a Value, place: &str) -> Result<Self, SchemaError> {
        let Value::Object(object) = json else {
            return Err(SchemaError::new(place, "an object is expected"));
        };
        Ok(Self {
            place: place.to_owned(),
            object,
            unread: object.keys().map(String::as_str).collect(),
        })
    }

    pub(super) fn require<T>(
        &mut self,
        read: impl FnOnce(&mut Self, &str) -> Result<Option<T>, SchemaError>,
        key: &str,
    ) -> Result<T, SchemaError> {
        let missing = SchemaError::new(&self.path_of(key), "this key is missing");
        read(self, key)?.ok_or(missing)
    }

    /// Reads the name of a group or environment. An environment's name later becomes part of a
    /// path.
    pub(super) fn take_name(&mut self, key: &str) -> Result<Option<String>, SchemaError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let Value::String(text) = value else {
            return Err(self.invalid_value(key, "a text is expected"));
        };
        check_name(&self.path_of(key), text)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if key == "environment" && !text.chars().all(plain) {
            let what = "an environment's name has letters, digits, `_` and `-`";
            return Err(self.invalid_value(key, what));
        }
        Ok(Some(text.clone()))
    }

    pub(super) fn take_description(
        &mut self,
        key: &str,
    ) -> Result<Option<Option<String>>, SchemaError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(None)),
            Some(Value::String(text)) if text.len() <= DESCRIPTION_BYTES => {
                Ok(Some(Some(text.clone())))
            }
            Some(_) => {
                let what = format!("a text of at most {DESCRIPTION_BYTES} bytes is expected");
                Err(self.invalid_value(key, &what))
            }
        }
    }

    pub(super) fn take_boolean(&mut self, key: &str) -> Result<Option<bool>, SchemaError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(_) => Err(self.invalid_value(key, "true or false is expected")),
        }
    }

    pub(super) fn take_integer(&mut self, key: &str) -> Result<Option<i64>, SchemaError> {
        match self.take(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let wrong = || self.invalid_value(key, "a whole number is expected");
                value.as_i64().map(Some).ok_or_else(wrong)
            }
        }
    }

    /// Reads a time such as `2018-02-20T02:36:17.776Z`, in milliseconds since 1970.
    pub(super) fn take_time(&mut self, key: &str) -> Result<Option<i64>, SchemaError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let time = value
            .as_str()
            .and_then(|text| text.parse::<jiff::Timestamp>().ok());
        let wrong =
            || self.invalid_value(key, "a time such as 2018-02-20T02:36:17.776Z is expected");
        time.map(|time| Some(time.as_millisecond()))
            .ok_or_else(wrong)
    }

    pub(super) fn take_id(&mut self, key: &str) -> Result<Option<GroupId>, SchemaError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let Value::String(text) = value else {
            return Err(self.invalid_value(key, "a group's id, a text, is expected"));
        };
        let id = text.parse::<GroupId>();
        id.map(Some)
            .map_err(|error| self.invalid_value(key, &error.to_string()))
    }

    pub(super) fn take_rule(
        &mut self,
        key: &str,
    ) -> Result<Option<Option<NodeGroupRule>>, SchemaError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(None)),
            Some(json) => match NodeGroupRule::parse(json) {
                Ok(rule) => Ok(Some(Some(rule))),
                // The position in the rule's error already begins with `rule`, the name of this
                // key.
                Err(error) => {
                    let place = self.path_of(&error.place);
                    Err(SchemaError::new(&place, error.what))
                }
            },
        }
    }

    pub(super) fn take_classes(&mut self, key: &str) -> Result<Option<ClassesDelta>, SchemaError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let place = self.path_of(key);
        let Value::Object(classes) = value else {
            let what = "an object of classes with their parameters is expected";
            return Err(SchemaError::new(&place, what));
        };
        let mut all = BTreeMap::new();
        for (name, value) in classes {
            check_name(&place, name)?;
            let parameters = match value {
                Value::Null => None,
                value => Some(parse_parameters(&format!("{place}.{name}"), value)?),
            };
            all.insert(name.clone(), parameters);
        }
        Ok(Some(all))
    }

    pub(super) fn take_parameters(
        &mut self,
        key: &str,
    ) -> Result<Option<ParametersDelta>, SchemaError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        parse_parameters(&self.path_of(key), value).map(Some)
    }

    /// Refuses input with more data than a group may have.
    pub(super) fn check_size(&self) -> Result<(), SchemaError> {
        let data = ["classes", "config_data", "variables"];
        let data = data.iter().filter_map(|key| self.object.get(*key));
        if data.map(json_bytes).sum::<usize>() > GROUP_DATA_BYTES {
            let what = format!(
                "classes, config_data and variables have at most {GROUP_DATA_BYTES} bytes together"
            );
            return Err(SchemaError::new(&self.path_of("classes"), what));
        }
        Ok(())
    }

    pub(super) fn ignore_keys(&mut self, keys: &[&str]) {
        self.unread.retain(|key| !keys.contains(key));
    }

    /// Refuses keys that were not read.
    pub(super) fn finish(self) -> Result<(), SchemaError> {
        match self.unread.first() {
            None => Ok(()),
            Some(key) => {
                let short: String = key.chars().take(40).collect();
                Err(SchemaError::new(
                    &self.path_of(&short),
                    "a group has no such key",
                ))
            }
        }
    }

    fn take(&mut self, key: &str) -> Option<&'a Value> {
        self.unread.retain(|left| *left != key);
        self.object.get(key)
    }

    fn invalid_value(&self, key: &str, what: &str) -> SchemaError {
        SchemaError::new(&self.path_of(key), what)
    }

    fn path_of(&self, key: &str) -> String {
        if self.place.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.place)
        }
    }
}

fn parse_parameters(place: &str, value: &Value) -> Result<ParametersDelta, SchemaError> {
    let Value::Object(parameters) = value else {
        return Err(SchemaError::new(
            place,
            "an object of names and values is expected",
        ));
    };
    let mut all = BTreeMap::new();
    for (name, value) in parameters {
        check_name(place, name)?;
        all.insert(name.clone(), (!value.is_null()).then(|| value.clone()));
    }
    Ok(all)
}

fn check_name(place: &str, name: &str) -> Result<(), SchemaError> {
    let fits =
        !name.trim().is_empty() && name.len() <= NAME_BYTES && !name.chars().any(char::is_control);
    let what = || format!("a name has 1 to {NAME_BYTES} bytes and no control characters");
    fits.then_some(())
        .ok_or_else(|| SchemaError::new(place, what()))
}

/// Length of a value as JSON, in bytes.
fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Array(values) => {
            2 + values
                .iter()
                .map(|value| 1 + json_bytes(value))
                .sum::<usize>()
        }
        Value::Object(object) => {
            let each = object.iter();
            2 + each
                .map(|(key, value)| 4 + key.len() + json_bytes(value))
                .sum::<usize>()
        }
        Value::String(text) => 2 + text.len(),
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 24,
    }
}
