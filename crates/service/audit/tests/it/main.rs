//! The audit on SQLite and on PostgreSQL: its entries, and the tampering that it detects.

#![expect(
    clippy::unwrap_used,
    reason = "in tests a panic is the report; clippy excuses only test functions"
)]

mod bench;
mod heads;
mod kill;
mod power_cuts;
mod prune;
mod tampering;
mod writing;
