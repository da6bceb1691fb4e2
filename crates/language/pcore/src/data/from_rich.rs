//! Conversion of rich data to values: [`from_rich`].
//!
//! Invariant: only known types are created, by their own constructors, so all their checks apply. A value is
//! created from a text or a hash, so it is not much larger than its data.

use serde_json::{Map, Value as Json};

use super::type_from_rich::type_from_rich;
use super::{RichDataError, TYPE_KEY, VALUE_KEY};
use crate::convert::new_instance;
use crate::types::{Type, TypeKind};
use crate::value::{Hash, Regexp, Value};

pub(super) type RichTypeLookup<'a> = &'a dyn Fn(&str) -> Option<Type>;

pub(super) fn from_rich(json: &Json, lookup: RichTypeLookup<'_>) -> Result<Value, RichDataError> {
    match json {
        Json::Array(values) => {
            let values: Result<Vec<Value>, RichDataError> = values
                .iter()
                .map(|value| from_rich(value, lookup))
                .collect();
            Ok(values?.into())
        }
        Json::Object(object) => match object.get(TYPE_KEY).and_then(Json::as_str) {
            Some(ty) => from_tagged(ty, object, lookup),
            None => Ok(fields(object, lookup)?.into()),
        },
        plain => Ok(Value::from_json(plain)),
    }
}

/// The entries except that of the type.
pub(super) fn fields(
    object: &Map<String, Json>,
    lookup: RichTypeLookup<'_>,
) -> Result<Hash, RichDataError> {
    object
        .iter()
        .filter(|(key, _)| *key != TYPE_KEY)
        .map(|(key, value)| Ok((key.as_str(), from_rich(value, lookup)?)))
        .collect()
}

fn from_tagged(
    name: &str,
    object: &Map<String, Json>,
    lookup: RichTypeLookup<'_>,
) -> Result<Value, RichDataError> {
    let malformed = || RichDataError::Malformed(name.to_owned());
    let inner = object.get(VALUE_KEY);
    match name {
        "Default" => return Ok(Value::Default),
        "Sensitive" => {
            let inner = from_rich(inner.ok_or_else(malformed)?, lookup)?;
            return Ok(Value::sensitive(inner));
        }
        "Hash" => return flat_hash(inner.ok_or_else(malformed)?, lookup).ok_or_else(malformed)?,
        "Symbol" => return from_rich(inner.ok_or_else(malformed)?, lookup),
        "Regexp" => {
            let source = inner.and_then(Json::as_str).ok_or_else(malformed)?;
            return Ok(Value::Regexp(Regexp::new(source)));
        }
        _ => {}
    }
    if let Some(word) = name.strip_prefix("Pcore::") {
        let fields = fields(object, lookup)?;
        return type_from_rich(word, &fields, lookup).ok_or_else(malformed)?;
    }
    let ty = Type::named(name, lookup);
    if matches!(ty.kind(), TypeKind::Reference(_)) {
        return Err(RichDataError::UnknownType(name.to_owned()));
    }
    let argument = match inner {
        Some(inner) => from_rich(inner, lookup)?,
        None => fields(object, lookup)?.into(),
    };
    // as in Puppet; from a number, the constructor of arrays would make so many values
    let is_data = matches!(argument, Value::Str(_) | Value::Hash(_));
    // arrays are written without a type; from a text, the constructor would make a value of each character
    let is_array = matches!(ty.kind(), TypeKind::Array { .. } | TypeKind::Tuple(_));
    if !is_data || is_array {
        return Err(malformed());
    }
    Ok(new_instance(&ty, &[argument])?)
}

/// A hash from a list of alternating keys and values; `None` if the JSON is not such a list.
fn flat_hash(json: &Json, lookup: RichTypeLookup<'_>) -> Option<Result<Value, RichDataError>> {
    let flat = json.as_array().filter(|flat| flat.len() % 2 == 0)?;
    let entries: Result<Hash, RichDataError> = flat
        .chunks_exact(2)
        .map(|pair| Ok((from_rich(&pair[0], lookup)?, from_rich(&pair[1], lookup)?)))
        .collect();
    Some(entries.map(Value::from))
}
