//! `tutti command`, `tutti script` and `tutti file`: the plan functions beside tasks, as commands.
//! Main types: [`CommandVerb`], [`ScriptVerb`] and [`FileVerb`].
//!
//! Invariant: commands, scripts and uploads are jobs of `command/action`, whose permissions and
//! results are those of a plan's `run_command`, `run_script` and `upload_file`.

mod command;
mod download;
mod script;
mod start;
mod upload;

use crate::VerbResult;
use crate::client::ApiClient;

/// Verbs of `tutti command`.
#[derive(Debug, clap::Subcommand)]
pub enum CommandVerb {
    /// Run a shell command on nodes and watch it
    #[command(after_long_help = "Examples:
  tutti command run 'systemctl is-active nginx' -t 'web*'
  tutti command run 'df -h /' -t all --run-as www-data

Needs the permission tasks:run:bolt_shim::command on the nodes.")]
    Run(command::Options),
}

/// Verbs of `tutti script`.
#[derive(Debug, clap::Subcommand)]
pub enum ScriptVerb {
    /// Run a script of this machine on nodes and watch it
    #[command(after_long_help = "Examples:
  tutti script run ./cleanup.sh -t 'web*' /var/cache 7
  tutti script run ./report.py -t all -- --verbose

Without a first line such as #!/bin/sh, /bin/sh runs it. Needs the permission tasks:run:bolt_shim::script on the
nodes.")]
    Run(script::Options),
}

/// Verbs of `tutti file`.
#[derive(Debug, clap::Subcommand)]
pub enum FileVerb {
    /// Upload a file of this machine to nodes
    #[command(after_long_help = "Example:
  tutti file upload ./motd /etc/motd -t 'web*'

A directory cannot be uploaded by hand; a plan's upload_file can. Needs the permission
tasks:run:bolt_shim::upload on the nodes.")]
    Upload(upload::Options),
    /// Download a file or directory of nodes to DIRECTORY/NODE/ on this machine
    #[command(after_long_help = "Example:
  tutti file download /etc/hosts ./collected -t 'web*'

At most 5 MiB and 1,000 files of each node, which needs Python 3. Needs the permission
tasks:run:bolt_shim::download on the nodes.")]
    Download(download::Options),
}

pub(crate) async fn run_command_verb(verb: CommandVerb, client: &ApiClient) -> VerbResult {
    let CommandVerb::Run(options) = verb;
    Box::pin(command::run(options, client)).await
}

pub(crate) async fn run_script_verb(verb: ScriptVerb, client: &ApiClient) -> VerbResult {
    let ScriptVerb::Run(options) = verb;
    Box::pin(script::run(options, client)).await
}

pub(crate) async fn run_file_verb(verb: FileVerb, client: &ApiClient) -> VerbResult {
    match verb {
        FileVerb::Upload(options) => Box::pin(upload::run(options, client)).await,
        FileVerb::Download(options) => Box::pin(download::run(options, client)).await,
    }
}
