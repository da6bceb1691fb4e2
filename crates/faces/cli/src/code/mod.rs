//! `tutti code`: environments from control repositories, deployed by a server or on this machine. Main type:
//! [`Verb`].
//!
//! The rule: what was not deployed is said with its reason, and is as it was before; the exit code is 0 when
//! everything is live that was asked for, 1 when something is not.

mod deploy;
mod diff;
mod gc;
mod history;
mod local;
mod pin;
mod promote;
mod puppetserver;
mod rollback;
mod shown;
mod status;
mod verify;
mod versions;

use crate::client::Client;
use crate::settings::Connection;
use crate::{Failure, Name};

pub(crate) use shown::short;

/// What is done with code.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Deploy environments: all of their code at once, or nothing of it
    Deploy(deploy::Options),
    /// Show what is under way, what failed and what is live
    Status(status::Options),
    /// List who deployed what, when and why, and what changed
    History(history::Options),
    /// List the versions of environments that are there
    Versions(versions::Options),
    /// Compare two versions, by module and by file
    Diff(diff::Options),
    /// Make another version live that is there
    Rollback(rollback::Options),
    /// Make a version of one environment live in another
    Promote(promote::Options),
    /// Let an environment stay with its version, whatever is deployed
    Pin(pin::Options),
    /// Let an environment be deployed again
    Unpin(pin::One),
    /// Remove versions that nobody needs
    Gc(gc::Options),
    /// Compare all deployed code with its hashes, and replace what is damaged
    Verify(verify::Options),
    /// Print the code id of what is live, as the code-id-command of a puppetserver
    Id(puppetserver::Id),
    /// Print a file of a version, as the code-content-command of a puppetserver
    Content(puppetserver::Content),
    /// Print what to configure where for a puppetserver on this machine
    PuppetserverSetup(puppetserver::Setup),
    /// Print where requests go
    #[command(hide = true)]
    PrintConfig,
}

/// The routes beside Code Manager's.
const CODE: [&str; 3] = ["tutti", "v1", "code"];

/// Code Manager's.
const CODE_MANAGER: [&str; 3] = ["code-manager", "v1", "deploys"];

pub(crate) async fn run(verb: Verb, connection: &Connection, name: Name) -> Result<u8, Failure> {
    let client = || Client::with_token(connection);
    match verb {
        Verb::Deploy(options) if options.is_local() => Box::pin(local::deploy::run(&options)).await,
        Verb::Versions(options) if options.is_local() => local::versions::run(&options),
        Verb::Rollback(options) if options.is_local() => {
            Box::pin(local::versions::rollback(&options)).await
        }
        Verb::Verify(options) if options.is_local() => Box::pin(local::verify::run(&options)).await,
        Verb::Deploy(options) => deploy::run(&options, &client()?, name).await,
        Verb::Status(options) => status::run(&options, &client()?, name).await,
        Verb::History(options) => history::run(&options, &client()?).await,
        Verb::Versions(options) => versions::run(&options, &client()?).await,
        Verb::Diff(options) => diff::run(&options, &client()?).await,
        Verb::Rollback(options) => rollback::run(&options, &client()?).await,
        Verb::Promote(options) => promote::run(&options, &client()?).await,
        Verb::Pin(options) => pin::run(&options, &client()?).await,
        Verb::Unpin(options) => pin::unpin(&options, &client()?).await,
        Verb::Gc(options) => gc::run(&options, &client()?).await,
        Verb::Verify(options) => verify::run(&options, &client()?).await,
        Verb::Id(options) => puppetserver::id(&options),
        Verb::Content(options) => puppetserver::content(&options),
        Verb::PuppetserverSetup(options) => puppetserver::setup(&options),
        Verb::PrintConfig => status::print_config(connection),
    }
}
