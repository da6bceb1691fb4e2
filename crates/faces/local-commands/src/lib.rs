//! Commands that work on files of this machine, without a server: `tutti lookup`, `tutti validate`,
//! `tutti catalog`, `tutti audit verify`, `tutti code … --local` and the commands that a puppetserver runs. Main
//! function: [`run`].
//!
//! Invariant: the crate `cli` parses the arguments that server commands have too; the engines
//! decide, and this crate prints.

pub mod audit;
pub mod catalog;
mod code;
mod defaults;
mod environment;
pub mod lookup;
pub mod validate;

use cli::local::{LocalCommand, LocalExit};

/// Runs a local command.
pub fn run(command: LocalCommand) -> LocalExit {
    Box::pin(async move {
        match command {
            LocalCommand::AuditVerify(verification) => audit::verify(&verification).await,
            LocalCommand::CodeDeploy(options) => Box::pin(code::deploy::run(&options)).await,
            LocalCommand::CodeVersions(options) => code::versions::run(&options),
            LocalCommand::CodeRollback(options) => code::versions::rollback(&options).await,
            LocalCommand::CodeVerify(options) => code::verify::run(&options).await,
            LocalCommand::CodeId(options) => code::puppetserver::print_code_id(&options),
            LocalCommand::CodeContent(options) => code::puppetserver::content(&options),
            LocalCommand::PuppetserverSetup(options) => code::puppetserver::setup(&options),
        }
    })
}
