//! Invariants for arbitrary text with two types and a value, one per line; fuzzing and property
//! tests run the same functions.
//!
//! Invariant: no panic; `Any` accepts every type; a value is an instance of the type that is
//! inferred for it.

use pcore::{Type, Value, describe_mismatch, format_value, new_instance};

/// Printed types and values grow with their contents; longer ones only repeat the structure of
/// short ones.
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
    let value = Value::parse_literal(lines.next().unwrap_or_default(), &|_| None);
    for ty in &types {
        let printed = ty.to_string();
        // Some types have no text that a program could write, such as that of an unknown regular
        // expression.
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
