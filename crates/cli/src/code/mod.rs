//! `tutti code`: environments of this machine, from control repositories. Main type: [`Verb`].
//!
//! Needs no server. The rule: what was not deployed is said with its reason, and is as it was before; the
//! exit code is 0 when everything is live that was asked for, 1 when something is not.

mod deploy;
mod settings;
mod versions;

use crate::Failure;

/// What is done with code.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Deploy environments: all of their code at once, or nothing of it
    Deploy(deploy::Options),
    /// List the versions of environments that are here
    Versions(versions::Options),
    /// Make another version live that is here
    Rollback(versions::Rollback),
}

pub(crate) async fn run(verb: Verb) -> Result<u8, Failure> {
    match verb {
        Verb::Deploy(options) => Box::pin(deploy::run(&options)).await,
        Verb::Versions(options) => versions::run(&options),
        Verb::Rollback(options) => Box::pin(versions::rollback(&options)).await,
    }
}
