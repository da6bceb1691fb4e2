//! `tutti catalog`: compiles catalogs from the files of this machine, and compares them. Main type:
//! [`CatalogCommand`].
//!
//! It needs neither a server nor Puppet; only code in Ruby needs Ruby with Puppet's library.
//!
//! Invariant: nothing is written, and nothing outside of the environment and its modules is read but
//! the facts, the global Hiera data and what Ruby code reads itself.

mod compile;
mod diff;
mod node;
mod text;

use cli::CommandFailure;

/// The commands for catalogs.
#[derive(Debug, clap::Subcommand)]
pub enum CatalogCommand {
    /// Compile the catalog of a node from the code of this machine
    Compile(compile::CompileOptions),
    /// Compare two catalogs: of two nodes, of two directories, or in two files
    Diff(diff::DiffOptions),
}

/// Runs a command and returns its exit code.
///
/// # Errors
/// The arguments are wrong, or a file cannot be read.
pub fn run(command: &CatalogCommand) -> Result<u8, CommandFailure> {
    match command {
        CatalogCommand::Compile(options) => compile::run(options),
        CatalogCommand::Diff(options) => diff::run(options),
    }
}
