//! Conversion of values to rich data: [`to_rich`].

use serde_json::{Map, Value as Json};

use super::type_to_rich::type_to_rich;
use super::{RichDataError, TYPE_KEY, VALUE_KEY, float};
use crate::types::{Type, TypeKind};
use crate::value::{Hash, PuppetObject, Value};

/// Rich data of a value.
pub(super) fn to_rich(value: &Value) -> Result<Json, RichDataError> {
    Ok(match value {
        Value::Undef => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => float(*number).ok_or_else(|| RichDataError::NotANumber {
            path: "the value".to_owned(),
        })?,
        Value::Str(text) => Json::String(text.to_string()),
        Value::Array(values) => list(values)?,
        Value::Hash(entries) => hash(entries)?,
        Value::Default => tagged("Default", Vec::new()),
        Value::Sensitive(inner) => tagged("Sensitive", vec![(VALUE_KEY, to_rich(inner)?)]),
        Value::Regexp(regexp) => text("Regexp", regexp.source()),
        Value::Binary(_) => text("Binary", &value.to_string()),
        Value::SemVer(_) => text("SemVer", &value.to_string()),
        Value::SemVerRange(_) => text("SemVerRange", &value.to_string()),
        Value::Timestamp(_) => text("Timestamp", &value.to_string()),
        // its usual text loses zeros at the start of the fraction, and so does Puppet's rich data
        Value::Timespan(span) => text("Timespan", &span.exact_text()),
        Value::Uri(_) => text("URI", &value.to_string()),
        Value::Type(ty) => type_to_rich(ty)?,
        Value::Object(object) => object_to_rich(object.as_ref())?,
    })
}

pub(super) fn list(values: &[Value]) -> Result<Json, RichDataError> {
    let list: Result<Vec<Json>, RichDataError> = values.iter().map(to_rich).collect();
    Ok(Json::Array(list?))
}

/// A hash with keys that are not strings, or one that looks like rich data, becomes a list of
/// alternating keys and values.
fn hash(entries: &Hash) -> Result<Json, RichDataError> {
    let is_plain = |key: &Value| key.as_str().is_some_and(|key| key != TYPE_KEY);
    if !entries.keys().all(is_plain) {
        let mut flat = Vec::with_capacity(entries.len() * 2);
        for (key, value) in entries.iter() {
            flat.push(to_rich(key)?);
            flat.push(to_rich(value)?);
        }
        return Ok(tagged("Hash", vec![(VALUE_KEY, Json::Array(flat))]));
    }
    let mut object = Map::with_capacity(entries.len());
    for (key, value) in entries.iter() {
        object.insert(key.to_string(), to_rich(value)?);
    }
    Ok(Json::Object(object))
}

/// A JSON object with its type.
pub(super) fn tagged(ty: &str, fields: Vec<(&str, Json)>) -> Json {
    let mut object = Map::with_capacity(fields.len() + 1);
    object.insert(TYPE_KEY.to_owned(), ty.into());
    for (name, value) in fields {
        object.insert(name.to_owned(), value);
    }
    Json::Object(object)
}

fn text(ty: &str, text: &str) -> Json {
    tagged(ty, vec![(VALUE_KEY, text.into())])
}

/// The attributes of an object, required ones first; defaults at the end are left out.
fn object_to_rich(object: &dyn PuppetObject) -> Result<Json, RichDataError> {
    let ty = object.object_type();
    let (TypeKind::Object(of) | TypeKind::ObjectExtension { base: of, .. }) = ty.kind() else {
        return Err(RichDataError::UnknownType(ty.to_plain_string()));
    };
    let attributes = of.all_attributes();
    let mut elements = of.init_hash_type();
    elements.sort_by_key(crate::types::StructElement::is_optional);
    let mut fields: Vec<(String, Value)> = Vec::with_capacity(elements.len());
    for element in &elements {
        let value = object.attribute(element.name()).unwrap_or_default();
        fields.push((element.name().to_owned(), value));
    }
    while let Some((name, value)) = fields.last() {
        let default = attributes
            .get(name.as_str())
            .and_then(|attribute| attribute.value());
        if default != Some(value) {
            break;
        }
        fields.pop();
    }
    let mut json = Map::with_capacity(fields.len() + 1);
    json.insert(TYPE_KEY.to_owned(), Type::from(of.clone()).name().into());
    for (name, value) in fields {
        json.insert(name, to_rich(&value)?);
    }
    Ok(Json::Object(json))
}
