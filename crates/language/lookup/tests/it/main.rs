//! Tests of `lookup`. `tests/oracles` runs the same programs with real Puppet.
#![cfg(test)]

mod backends;
mod functions;
mod secrets;
mod world;
