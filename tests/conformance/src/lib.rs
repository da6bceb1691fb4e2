//! Tutti against the real programs of the Puppet world: what the tests of this crate stand on.
//!
//! `cargo xtask test --full` runs them; they need Debian's puppetserver, PuppetDB and puppet-agent
//! and some minutes. The rule: one [`site::Site`] is started for all scenarios of a test program,
//! each scenario leaves it as it found it, and nothing runs on after the program's end.
#![expect(clippy::print_stderr, reason = "test programs report on a terminal")]

pub mod cli;
pub mod enc;
pub mod gate;
pub mod ran;
pub mod scenarios;
pub mod site;
