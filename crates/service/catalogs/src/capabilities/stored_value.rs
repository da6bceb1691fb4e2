//! Attributes of capabilities as JSON with rich data: [`stored_text`], [`read_value`].
//!
//! Invariant: a text that is written can be read.

use pcore::{Hash, RichDataError, Type, Value};
use serde_json::Value as Json;
use zeroize::Zeroizing;

/// Attributes as they are stored, if they can be read again; else an attribute that cannot, and the reason.
pub(super) fn stored_text(attributes: &Hash) -> Result<Zeroizing<String>, (String, RichDataError)> {
    let write = |attributes: Hash| {
        let json = Value::hash(attributes).to_rich_json()?;
        read_value(&json)?;
        Ok(json)
    };
    match write(attributes.clone()) {
        Ok(json) => Ok(Zeroizing::new(json.to_string())),
        Err(error) => {
            let mut each = attributes.iter().filter_map(|(name, value)| {
                let mut one = Hash::default();
                one.insert(name.clone(), value.clone());
                Some((name.to_string(), write(one).err()?))
            });
            Err(each.next().unwrap_or_else(|| (String::new(), error)))
        }
    }
}

/// Types of modules are not known here: a value of one is refused.
pub(super) fn read_value(json: &Json) -> Result<Value, RichDataError> {
    Value::from_rich_json(json, &|name| Type::builtin(name))
}
