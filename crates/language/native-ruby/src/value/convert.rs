//! Values of Puppet from and to those of a template.

use std::cell::Cell;
use std::sync::Arc;

use pcore::{Hash, Value};

use super::{Depth, Eval, RubyArray, RubyHash, RubyString, RubyValue, refuse};

impl RubyValue {
    /// A value of the scope. Arrays and hashes are read when they are looked at.
    pub(crate) fn of_scope(value: &Value) -> Self {
        match value {
            Value::Undef => Self::Nil,
            Value::Default => Self::Symbol("default".into()),
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Int(number) => Self::Int(*number),
            Value::Float(number) => Self::Float(*number),
            Value::Str(text) => Self::Str(RubyString::new(Arc::clone(text), true)),
            Value::Array(elements) => Self::Array(RubyArray::of_scope(Arc::clone(elements))),
            Value::Hash(entries) => Self::Hash(RubyHash::of_scope(Arc::clone(entries))),
            other => Self::Foreign(other.clone()),
        }
    }

    /// The value as an argument of a function.
    pub(crate) fn to_puppet(&self) -> Eval<Value> {
        self.to_puppet_nested(Depth::new(&Cell::new(0)))
    }

    fn to_puppet_nested(&self, depth: Depth<'_>) -> Eval<Value> {
        depth.visit()?;
        Ok(match self {
            Self::Nil => Value::Undef,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Int(number) => Value::Int(*number),
            Self::Float(number) if number.is_finite() => Value::Float(*number),
            Self::Str(text) => Value::Str(text.get()),
            Self::Symbol(text) if &**text == "default" => Value::Default,
            Self::Array(elements) => {
                let elements = elements.get();
                let elements = elements
                    .iter()
                    .map(|it| it.to_puppet_nested(depth.deeper()));
                elements.collect::<Eval<Vec<Value>>>()?.into()
            }
            Self::Hash(entries) => {
                let mut hash = Hash::new();
                for (key, value) in entries.get()?.iter() {
                    let key = key.value().to_puppet_nested(depth.deeper())?;
                    hash.insert(key, value.to_puppet_nested(depth.deeper())?);
                }
                hash.into()
            }
            Self::Foreign(value) => value.clone(),
            other => return refuse(format!("{} as a value of Puppet", other.kind())),
        })
    }
}
