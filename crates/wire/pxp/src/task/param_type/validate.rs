//! Whether a JSON value is of a type.

use serde_json::{Map, Value};

use super::{ParamType, Presence, Range, StructEntry};

/// A value is not of the type. Never shows the value: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expects {expected}, got {found}")]
pub struct Mismatch {
    /// The place within the value, e.g. `[2].port`; empty for the value itself.
    pub path: String,
    /// E.g. `a value of type Enum['a','b']`.
    pub expected: String,
    /// E.g. `Integer`.
    pub found: String,
}

type Outcome = Result<(), Mismatch>;

impl ParamType {
    /// Checks a value.
    pub fn validate(&self, value: &Value) -> Result<(), Mismatch> {
        match self {
            Self::Any | Self::Data => Ok(()),
            Self::Optional(_) if value.is_null() => Ok(()),
            Self::Optional(inner) | Self::Sensitive(inner) => inner.validate(value),
            Self::NotUndef(inner) if !value.is_null() => inner.validate(value),
            Self::Variant(types) => self.variant(types, value),
            Self::Array(element, sizes) => self.array(element, sizes, value),
            Self::Tuple(types, sizes) => self.tuple(types, sizes, value),
            Self::Hash(key, entry, sizes) => self.hash(key, entry, sizes, value),
            Self::Struct(entries) => self.structure(entries, value),
            Self::TargetSpec => self.target_spec(value),
            scalar if scalar.takes(value) => Ok(()),
            _ => Err(self.mismatch(value)),
        }
    }

    /// For types whose values have no parts.
    fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Undef, Value::Null) => true,
            (Self::ScalarData { .. }, value) => {
                value.is_string() || value.is_number() || value.is_boolean()
            }
            (Self::Numeric, value) => value.is_number(),
            (Self::Boolean(only), Value::Bool(value)) => only.is_none_or(|only| only == *value),
            (Self::String(lengths), Value::String(text)) => {
                lengths.contains(text.chars().count() as u64)
            }
            (Self::Integer(numbers), Value::Number(_)) => value
                .as_i64()
                .is_some_and(|number| numbers.contains(number)),
            (Self::Float(numbers), Value::Number(number)) if number.is_f64() => value
                .as_f64()
                .is_some_and(|number| numbers.contains(number)),
            (
                Self::Enum {
                    values,
                    ignore_case,
                },
                Value::String(text),
            ) => {
                let same = |value: &String| {
                    value == text || *ignore_case && value.to_lowercase() == text.to_lowercase()
                };
                values.iter().any(same)
            }
            (Self::Pattern(all), Value::String(text)) => all.iter().any(|one| one.is_match(text)),
            (Self::Collection(sizes), Value::Array(items)) => sizes.contains(items.len() as u64),
            (Self::Collection(sizes), Value::Object(map)) => sizes.contains(map.len() as u64),
            _ => false,
        }
    }

    /// With one member that fits the value's JSON type, its more precise mismatch is returned.
    fn variant(&self, types: &[Self], value: &Value) -> Outcome {
        let mut deepest: Option<Mismatch> = None;
        for member in types {
            match member.validate(value) {
                Ok(()) => return Ok(()),
                Err(mismatch) if mismatch.path.is_empty() => {}
                Err(mismatch) => {
                    deepest.get_or_insert(mismatch);
                }
            }
        }
        Err(deepest.unwrap_or_else(|| self.mismatch(value)))
    }

    fn array(&self, element: &Self, sizes: &Range<u64>, value: &Value) -> Outcome {
        let items = value.as_array().ok_or_else(|| self.mismatch(value))?;
        self.size("element", sizes, items.len())?;
        let mut items = items.iter().enumerate();
        items.try_for_each(|(index, item)| within(&format!("[{index}]"), element.validate(item)))
    }

    fn tuple(&self, types: &[Self], sizes: &Range<u64>, value: &Value) -> Outcome {
        let items = value.as_array().ok_or_else(|| self.mismatch(value))?;
        self.size("element", sizes, items.len())?;
        let last = types.last().expect("a tuple has at least one type");
        let types = types.iter().chain(std::iter::repeat(last));
        let mut pairs = items.iter().zip(types).enumerate();
        pairs.try_for_each(|(index, (item, inner))| {
            within(&format!("[{index}]"), inner.validate(item))
        })
    }

    fn hash(&self, key: &Self, entry: &Self, sizes: &Range<u64>, value: &Value) -> Outcome {
        let map = value.as_object().ok_or_else(|| self.mismatch(value))?;
        self.size("entry", sizes, map.len())?;
        for (name, value) in map {
            key.validate(&Value::String(name.clone()))
                .map_err(|mismatch| Mismatch {
                    expected: format!("the key '{}' to be {}", shown(name), mismatch.expected),
                    ..mismatch
                })?;
            within(&format!(".{}", shown(name)), entry.validate(value))?;
        }
        Ok(())
    }

    fn structure(&self, entries: &[StructEntry], value: &Value) -> Outcome {
        let map = value.as_object().ok_or_else(|| self.mismatch(value))?;
        for entry in entries {
            match map.get(&entry.name) {
                Some(value) => within(&format!(".{}", entry.name), entry.value.validate(value))?,
                None if entry.may_be_absent() => {}
                None => return Err(missing(entry)),
            }
        }
        unknown_entry(entries, map).map_or(Ok(()), |name| {
            Err(Mismatch {
                path: String::new(),
                expected: format!("a value of type {self}"),
                found: format!("an entry '{}' that it does not have", shown(name)),
            })
        })
    }

    fn target_spec(&self, value: &Value) -> Outcome {
        match value {
            Value::String(_) => Ok(()),
            Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
                within(&format!("[{index}]"), self.target_spec(item))
            }),
            _ => Err(self.mismatch(value)),
        }
    }

    fn size(&self, what: &str, sizes: &Range<u64>, count: usize) -> Outcome {
        if sizes.contains(count as u64) {
            return Ok(());
        }
        Err(Mismatch {
            path: String::new(),
            expected: format!("a value of type {self}"),
            found: match (count, what) {
                (1, _) => format!("1 {what}"),
                (_, "entry") => format!("{count} entries"),
                _ => format!("{count} {what}s"),
            },
        })
    }

    fn mismatch(&self, value: &Value) -> Mismatch {
        Mismatch {
            path: String::new(),
            expected: format!("a value of type {self}"),
            found: self.describe(value),
        }
    }

    /// The language's name of the value's type, with what matters to this type.
    fn describe(&self, value: &Value) -> String {
        match (self, value) {
            (Self::String(_), Value::String(text)) => {
                format!("a String of length {}", text.chars().count())
            }
            (Self::Enum { .. } | Self::Pattern(_), Value::String(_)) => "another String".to_owned(),
            (Self::Integer(_) | Self::Float(_), Value::Number(_)) if self.right_kind(value) => {
                format!("{} out of range", type_name(value))
            }
            _ => type_name(value).to_owned(),
        }
    }

    fn right_kind(&self, value: &Value) -> bool {
        matches!(self, Self::Float(_)) == value.is_f64()
    }
}

impl StructEntry {
    fn may_be_absent(&self) -> bool {
        match self.presence {
            Presence::ByValue => self.value.accepts_undef(),
            Presence::Optional => true,
            Presence::Required => false,
        }
    }
}

fn missing(entry: &StructEntry) -> Mismatch {
    Mismatch {
        path: format!(".{}", entry.name),
        expected: format!("a value of type {}", entry.value),
        found: "nothing".to_owned(),
    }
}

fn unknown_entry<'a>(entries: &[StructEntry], map: &'a Map<String, Value>) -> Option<&'a str> {
    map.keys()
        .map(String::as_str)
        .find(|name| entries.iter().all(|entry| entry.name != *name))
}

fn within(place: &str, outcome: Outcome) -> Outcome {
    outcome.map_err(|mismatch| Mismatch {
        path: format!("{place}{}", mismatch.path),
        ..mismatch
    })
}

/// A key as an error may repeat it.
fn shown(key: &str) -> String {
    super::error::clip(key).escape_debug().to_string()
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "Undef",
        Value::Bool(_) => "Boolean",
        Value::Number(number) if number.is_f64() => "Float",
        Value::Number(_) => "Integer",
        Value::String(_) => "String",
        Value::Array(_) => "Array",
        Value::Object(_) => "Hash",
    }
}
