//! Tests of `lookup`. What real Puppet says to the same programs is asked in `tests/oracles`.
#![cfg(test)]

mod backends;
mod functions;
mod secrets;
mod world;
