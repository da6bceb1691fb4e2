//! Methods of all values, of `nil` and of symbols.

use std::sync::Arc;

use super::Interpreter;
use crate::syntax::RubyClass;
use crate::value::{Entries, Eval, Key, RubyValue};

impl Interpreter<'_, '_> {
    /// Methods that every value has; `None` if it is none of them.
    pub(super) fn call_common(
        receiver: &RubyValue,
        name: &str,
        arguments: &[RubyValue],
    ) -> Eval<Option<RubyValue>> {
        if receiver.is_opaque() {
            return Ok(None);
        }
        Ok(Some(match (name, arguments) {
            ("nil?", []) => RubyValue::Bool(matches!(receiver, RubyValue::Nil)),
            ("==", [other]) => RubyValue::Bool(receiver.is_equal(other)?),
            ("<=>", [other]) => match receiver.compare(other)? {
                Some(order) => RubyValue::Int(order as i64),
                None => RubyValue::Nil,
            },
            ("eql?", [other]) => RubyValue::Bool(Key::new(receiver)? == Key::new(other)?),
            // strings are copied by `to_s` only in subclasses
            ("to_s", []) => match receiver {
                RubyValue::Str(_) => receiver.clone(),
                other => RubyValue::string(other.to_text()?),
            },
            ("inspect", []) => {
                let mut text = String::new();
                receiver.write_inspected(&mut text, 0)?;
                RubyValue::string(text)
            }
            ("dup" | "clone", []) => match receiver {
                RubyValue::Str(text) => RubyValue::string(text.get()),
                RubyValue::Array(elements) => RubyValue::array(elements.get().to_vec()),
                RubyValue::Hash(entries) => RubyValue::hash((*entries.get()?).clone()),
                other => other.clone(),
            },
            _ => return Ok(None),
        }))
    }

    pub(super) fn call_nil(name: &str, arguments: &[RubyValue]) -> Option<RubyValue> {
        Some(match (name, arguments) {
            ("to_a", []) => RubyValue::array(Vec::new()),
            ("to_h", []) => RubyValue::hash(Entries::default()),
            ("to_i", []) => RubyValue::Int(0),
            ("to_f", []) => RubyValue::Float(0.0),
            ("=~", [_]) => RubyValue::Nil,
            _ => return None,
        })
    }

    /// New collections.
    pub(super) fn call_class(
        class: RubyClass,
        name: &str,
        arguments: &[RubyValue],
    ) -> Option<RubyValue> {
        Some(match (class, name, arguments) {
            (RubyClass::Array, "new", []) => RubyValue::array(Vec::new()),
            (RubyClass::Hash, "new", []) => RubyValue::hash(Entries::default()),
            _ => return None,
        })
    }

    pub(super) fn call_symbol(
        text: &Arc<str>,
        name: &str,
        arguments: &[RubyValue],
    ) -> Option<RubyValue> {
        Some(match (name, arguments) {
            ("to_sym", []) => RubyValue::Symbol(Arc::clone(text)),
            ("size" | "length", []) => RubyValue::count(text.chars().count()),
            _ => return None,
        })
    }
}
