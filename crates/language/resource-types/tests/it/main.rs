//! Tests of the resource types without Puppet; `tests/oracles` compares with a real one.
#![cfg(test)]

mod core;
mod entry;
mod generated;
mod properties;
mod ruby;
mod ruby_refused;
mod transport;
