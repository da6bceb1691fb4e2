//! The real programs, from outside.

mod kill;
mod tasks;

use testkit::installation::{Installation, Programs};

/// An installation of the programs under test, with `extra` at the end of the server's file.
fn installation(extra: &str) -> Installation {
    let programs = Programs::beside(env!("CARGO_BIN_EXE_tutti")).unwrap();
    Installation::new(programs, extra).unwrap()
}
