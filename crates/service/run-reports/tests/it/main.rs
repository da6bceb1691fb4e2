//! Integration tests: reports of agents, hostile ones, and a PuppetDB that is away.

#![expect(
    clippy::unwrap_used,
    reason = "in tests a panic is the report; clippy excuses only test functions"
)]

mod engine;
mod processing;
mod puppetdb;
mod reading;
mod sample;
