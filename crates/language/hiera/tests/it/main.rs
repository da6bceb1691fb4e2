//! Tests of `hiera`. What Puppet says to each key of a whole site is asked in `tests/oracles`.
#![cfg(test)]

mod arbitrary;
mod backends;
mod configs;
mod entry;
mod globs;
mod limits;
mod lookups;
mod world;
