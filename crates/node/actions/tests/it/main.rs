//! Integration tests of the engine in one binary, with real processes, files and restarts, and a
//! broker that only records.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a panic is how they report"
)]

mod actions;
mod behaviours_answers;
mod behaviours_process;
mod behaviours_tasks;
mod disk;
mod downloads;
mod exchanges;
mod facts;
mod fake;
mod leases;
mod live;
mod power_cuts;
mod primary;
mod puppet;
mod puppet_direct;
mod puppet_fake;
mod puppet_real;
mod puppet_waits;
mod reruns;
mod restarts;
mod run_with;
mod spool_power_cuts;
mod tasks;
mod trees;
