//! Integration tests with the real programs.
#![cfg(test)]

mod admin_password;
mod adverse_agents;
mod apply;
mod brokers;
mod catalogs;
mod code;
mod completion;
mod disk;
mod doctor;
mod facts;
mod fairness;
mod fleet;
mod follow;
mod frozen_disk;
mod hostile;
mod identity;
mod kill;
mod live;
mod memory;
mod metrics;
mod mistakes;
mod names;
mod node_purge;
mod oidc;
mod plans;
mod postgres;
mod puppet_runs;
mod release_traffic;
mod restart;
mod secrets;
mod shim;
mod sse;
mod standing_deployment;
mod tasks;
mod traces;
mod unusable_files;
mod world;

use testkit::installation::{Installation, Programs};

/// An installation of the programs under test, with `extra` at the end of the server's file.
fn installation(extra: &str) -> Installation {
    let programs = Programs::beside(env!("CARGO_BIN_EXE_tutti")).unwrap();
    Installation::new(programs, extra).unwrap()
}
