//! `tutti catalog`: compiles catalogs from the files of this machine, compares them, and shows those that a server
//! compiled for its agents. Main type: [`CatalogCommand`].
//!
//! It needs neither a server nor Puppet, except for a comparison with a puppetserver and for exported
//! resources of other nodes, which are in PuppetDB; only code in Ruby needs Ruby with Puppet's library.
//!
//! Invariant: nothing is written, and nothing outside of the environment and its modules is read but
//! the facts, the global Hiera data, PuppetDB and what Ruby code reads itself.

mod client_certificate;
mod compile;
mod diff;
mod impact;
mod node;
mod node_facts;
mod puppetdb;
mod shadow;
mod text;

use cli::CommandFailure;

/// The commands for catalogs.
#[derive(Debug, clap::Subcommand)]
pub enum CatalogCommand {
    /// Compile the catalog of a node from the code of this machine
    Compile(compile::CompileOptions),
    /// Compare two catalogs: of two nodes, of two directories, or in two files
    Diff(diff::DiffOptions),
    /// Compile all nodes with two directories, and group them by the changes of their catalogs
    Impact(impact::ImpactOptions),
    /// Compile nodes here and on a puppetserver, and report the differences grouped by cause
    Shadow(shadow::ShadowOptions),
    #[command(flatten)]
    OfAgents(cli::node_catalog::NodeCatalogVerb),
}

/// Runs a command and returns its exit code.
///
/// # Errors
/// The arguments are wrong, or a file cannot be read.
pub fn run(command: &CatalogCommand) -> Result<u8, CommandFailure> {
    match command {
        CatalogCommand::Compile(options) => compile::run(options),
        CatalogCommand::Diff(options) => diff::run(options),
        CatalogCommand::Impact(options) => impact::run(options),
        CatalogCommand::Shadow(options) => shadow::run(options),
        CatalogCommand::OfAgents(verb) => cli::node_catalog::run_node_catalog(verb),
    }
}
