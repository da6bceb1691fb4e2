//! Integration tests of the inventory: the embedded back end, and a PuppetDB that misbehaves.

#![expect(
    clippy::unwrap_used,
    reason = "in tests a panic is the report; clippy excuses only test functions"
)]

mod collector;
mod embedded;
mod fake;
mod hostile;
mod puppetdb;
mod site;
