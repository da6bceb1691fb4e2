//! Tests of `hiera`. `tests/oracles` compares each key of a whole site with Puppet.
#![cfg(test)]

mod arbitrary;
mod backends;
mod configs;
mod entry;
mod globs;
mod limits;
mod lookups;
mod world;
