//! What fuzzing and property tests do with arbitrary text: two types and a value, a line each. The rule: no
//! panic; `Any` takes every type; a value belongs to the type that is inferred of it.

use pcore::{Type, Value, describe_mismatch, format_value, new_instance};

/// Printed types and values grow with what they hold; longer ones only repeat what short ones show.
const BYTES_MAX: usize = 2_000;

pub(crate) fn types(data: &[u8]) {
    if data.len() > BYTES_MAX {
        return;
    }
    let text = String::from_utf8_lossy(data);
    let mut lines = text.splitn(3, '\n');
    let types: Vec<Type> = lines
        .by_ref()
        .take(2)
        .filter_map(|line| Type::parse(line).ok())
        .collect();
    let value = Value::parse_literal(lines.next().unwrap_or_default());
    for ty in &types {
        let printed = ty.to_string();
        // Not all types have a text that a program could say, such as that of an unknown regular expression.
        let _ = Type::parse(&printed);
        assert!(Type::any().is_assignable(ty), "Any takes {printed}");
        let _ = (ty.generalize().to_string(), ty.is_assignable(ty));
        if let Ok(value) = &value {
            takes(ty, value);
        }
    }
    if let [a, b] = &types[..] {
        let _ = (a.common(b).to_string(), a.is_assignable(b), a == b);
        let _ = describe_mismatch("x", a, b);
    }
    if let Ok(value) = &value {
        let inferred = Type::infer_detailed(value);
        assert!(inferred.is_instance(value), "{value} is a {inferred}");
        let _ = (value.to_program_string(), format_value(value, None));
        if let Ok(json) = value.to_rich_json() {
            let _ = serde_json::to_string(&json);
        }
    }
}

fn takes(ty: &Type, value: &Value) {
    if !ty.is_instance(value) {
        let _ = describe_mismatch("x", ty, &Type::infer_detailed(value));
    }
    let _ = new_instance(ty, std::slice::from_ref(value));
}
