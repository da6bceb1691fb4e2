//! What types, values and conversions answer; the answers were checked with real Puppet, and the whole
//! comparison is in tests/oracles.
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

/// A type of its text.
fn ty(text: &str) -> Type {
    Type::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A literal value of its text.
fn value(text: &str) -> Value {
    Value::parse_literal(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What `T(arguments)` gives, as a program writes it, or its error.
fn made(text: &str, arguments: &[Value]) -> Result<String, String> {
    pcore::new_instance(&ty(text), arguments)
        .map(|value| value.to_program_string())
        .map_err(|error| error.to_string())
}
