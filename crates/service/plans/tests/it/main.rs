//! The plan engine on a real store, with real job rows and simulated nodes.

#![expect(
    clippy::unwrap_used,
    reason = "in tests a panic is the report; clippy excuses only test functions"
)]

mod deaths;
mod effects;
mod kill;
mod nodes;
mod over_jobs;
mod plans;
mod programs;
mod sleeping;
mod world;
