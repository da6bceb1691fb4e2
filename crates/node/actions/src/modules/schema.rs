//! The part of JSON Schema that external modules use in their metadata: [`check`] supports `type`,
//! `properties`, `required`, `additionalProperties`, `items` and `enum`.
//!
//! Invariant: other keywords of a schema are not checked here but left to the module itself, so a
//! valid input is never refused.

use serde_json::Value;

/// The first position at which `value` does not match, as `path: problem`.
pub(super) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    check_at(schema, value, "input")
}

fn check_at(schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    if let Some(types) = schema.get("type")
        && !types_of(types).any(|name| is_type(name, value))
    {
        return Err(format!("{path}: must be of type {types}"));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        return Err(format!(
            "{path}: must be one of {}",
            Value::from(allowed.clone())
        ));
    }
    if let Some(object) = value.as_object() {
        check_object(schema, object, path)?;
    }
    if let (Some(items), Some(array)) = (schema.get("items"), value.as_array()) {
        for (index, item) in array.iter().enumerate() {
            check_at(items, item, &format!("{path}[{index}]"))?;
        }
    }
    Ok(())
}

fn check_object(
    schema: &Value,
    object: &serde_json::Map<String, Value>,
    path: &str,
) -> Result<(), String> {
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    for name in required.filter_map(Value::as_str) {
        if !object.contains_key(name) {
            return Err(format!("{path}: lacks {name:?}"));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in object {
        match properties.and_then(|properties| properties.get(name)) {
            Some(schema) => check_at(schema, value, &format!("{path}.{name}"))?,
            None if closed => return Err(format!("{path}: unknown key {name:?}")),
            None => {}
        }
    }
    Ok(())
}

fn types_of(types: &Value) -> impl Iterator<Item = &str> {
    let one = types.as_str();
    let many = types
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    one.into_iter().chain(many)
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The input of pxp-module-puppet's action, shortened.
    fn puppet() -> Value {
        json!({
            "type": "object",
            "properties": {
                "flags": {"type": "array", "items": {"type": "string"}},
                "job": {"type": "string"},
                "mode": {"enum": ["a", "b"]},
            },
            "required": ["flags"],
            "additionalProperties": false,
        })
    }

    #[test]
    fn what_matches_passes() {
        for good in [
            json!({"flags": []}),
            json!({"flags": ["--noop"], "job": "1", "mode": "a"}),
        ] {
            check(&puppet(), &good).unwrap();
        }
        check(
            &json!({"oneOf": [], "type": ["string", "null"]}),
            &Value::Null,
        )
        .unwrap();
    }

    #[test]
    fn what_does_not_is_named_with_its_place() {
        for (bad, expected) in [
            (json!([]), "input: must be of type \"object\""),
            (json!({}), "input: lacks \"flags\""),
            (
                json!({"flags": ["a", 1]}),
                "input.flags[1]: must be of type \"string\"",
            ),
            (json!({"flags": [], "x": 1}), "input: unknown key \"x\""),
            (
                json!({"flags": [], "mode": "c"}),
                "input.mode: must be one of [\"a\",\"b\"]",
            ),
        ] {
            assert_eq!(check(&puppet(), &bad).unwrap_err(), expected);
        }
    }
}
