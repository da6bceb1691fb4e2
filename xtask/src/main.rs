//! Commands of developers: `cargo xtask test|bench|soak|oracles|layers|words|functions|
//! resource-types|deny`. Main type: [`Command`].
//!
//! Invariant: users of Tutti need nothing from here, and everything that the checks need beyond a
//! Rust toolchain is installed (or named) by [`packages`].
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for a terminal"
)]

mod apt;
mod bench;
mod compiler;
mod deny;
mod functions;
mod layers;
mod packages;
mod puppet8;
mod puppet_modules;
mod puppetserver8;
mod resource_types;
mod run;
mod soak;
mod suite;
mod words;

use std::process::ExitCode;

use clap::Parser;

use self::compiler::Compiler;

/// Tutti's checks and measurements.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
enum Command {
    /// Install the packages that the tests need, then check format, lints, layers and run every
    /// test
    Test(suite::Options),
    /// Measure speed and memory; prints one JSON line per figure
    Bench(bench::Options),
    /// Run the kill tests and power cuts many times
    Soak(soak::Options),
    /// Install Ruby, Puppet 7, Puppet 8 and modules, with which `cargo test -p oracles` compares, and
    /// puppetserver 8 for `cargo test -p conformance`
    Oracles,
    /// Check that crates use only the areas that their own area may use
    Layers,
    /// Check names and prose of the sources and documents
    Words(words::Options),
    /// Write docs/functions.md from the tables of the built-in functions
    Functions,
    /// Write the table of Puppet's own resource types, from Puppet 8
    ResourceTypes,
    /// Check licences, bans, sources and, where that is possible, advisories of the dependencies
    Deny,
}

fn main() -> ExitCode {
    let outcome = match Command::parse() {
        Command::Test(options) => suite::run(&options),
        Command::Bench(options) => bench::run(&options, Compiler::Rustc),
        Command::Soak(options) => soak::run(&options),
        Command::Oracles => suite::oracles(),
        Command::Layers => layers::run(),
        Command::Words(options) => words::run(&options),
        Command::Functions => functions::run(),
        Command::ResourceTypes => resource_types::run(),
        Command::Deny => deny::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
