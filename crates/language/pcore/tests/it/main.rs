//! Types, values and conversions; the expected results were checked with real Puppet, and
//! tests/oracles has the whole comparison.
#![cfg(test)]

mod arbitrary;
mod assignable;
mod conversions;
mod data;
mod descriptions;
mod entry;
mod formats;
mod generated;
mod objects;
mod parameters;
mod properties;
mod recursion;
mod texts;
mod times;
mod values;

use pcore::{Type, Value};

/// Parses a type.
fn ty(text: &str) -> Type {
    Type::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Parses a literal value.
fn value(text: &str) -> Value {
    Value::parse_literal(text, &|_| None).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The result of `T(arguments)` as a program writes it, or its error.
fn made(text: &str, arguments: &[Value]) -> Result<String, String> {
    pcore::new_instance(&ty(text), arguments)
        .map(|value| value.to_program_string())
        .map_err(|error| error.to_string())
}
