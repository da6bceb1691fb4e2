//! Tests of `native-ruby`. That its texts are Ruby's is tested in `tests/oracles`.
#![cfg(test)]

mod bounds;
mod entry;
mod properties;
mod refused;
