//! Verbs against a server that says what the test wants.

mod access;
mod actions;
mod again;
mod code;
mod completions;
mod fake;
mod help;
mod hostile;
mod job_code;
mod jobs;

mod names;
mod node_catalogs;
mod node_leases;
mod node_purge;
mod plans;
mod rbac;
mod reports;
mod sites;
mod targets;

use clap::Parser;

/// The command line as the program has it.
#[derive(Debug, Parser)]
#[command(name = "tutti")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: crate::ClientCommand,
}
