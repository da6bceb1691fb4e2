//! `tutti code`: environments from control repositories, deployed by a server or on this machine.
//! Main type: [`CodeVerb`].
//!
//! Invariant: an environment that was not deployed is reported with the reason and stays as it was;
//! the exit code is 0 if everything requested is live, and 1 if not.

mod deploy;
mod diff;
mod directory;
mod display;
mod gc;
mod history;
mod impact;
mod pin;
mod promote;
mod puppetserver;
mod rollback;
mod routes;
mod status;
mod verify;
mod versions;

use crate::client::ApiClient;
use crate::local::LocalCommand::{
    CodeContent, CodeDeploy, CodeId, CodeRollback, CodeVerify, CodeVersions, PuppetserverSetup,
};
use crate::local::LocalRunner;
use crate::settings::ConnectionFlags;
use crate::{ProgramName, VerbResult};
use routes::{CODE_MANAGER, code_route};

pub use deploy::{Options as DeployOptions, VersionsToKeep, failure as failure_text};
pub use directory::LocalCodeOptions;
pub use display::{megabytes, short};
pub use puppetserver::{CodeDirectories, ContentOptions, IdOptions, SetupOptions};
pub use rollback::Options as RollbackOptions;
pub use verify::{Options as VerifyOptions, print as print_verification};
pub use versions::Options as VersionsOptions;

/// Verbs of `tutti code`.
#[derive(Debug, clap::Subcommand)]
pub enum CodeVerb {
    /// Deploy environments; each switches atomically to its new version
    Deploy(deploy::Options),
    /// Show deployments in progress, failed deployments and live versions
    Status(status::Options),
    /// List deployments: user, time, reason and changes
    History(history::Options),
    /// List the code versions of environments
    Versions(versions::Options),
    /// Compare two versions, by module and by file
    Diff(diff::Options),
    /// Compile nodes with a version before it goes live, and group them by what changes
    Impact(impact::Options),
    /// Make an earlier version live again
    Rollback(rollback::Options),
    /// Make the version of one environment live in another
    Promote(promote::Options),
    /// Keep an environment at its live version; deployments to it are refused
    Pin(pin::Options),
    /// Allow deployments to an environment again
    #[command(after_long_help = "Example:\n  tutti code unpin production")]
    Unpin {
        /// Name of the environment
        #[arg(value_name = "ENVIRONMENT")]
        environment: String,
    },
    /// Remove versions that are not needed any more
    Gc(gc::Options),
    /// Compare all deployed code with its hashes, and restore damaged files
    Verify(verify::Options),
    /// Print the live code id, as the code-id-command of a puppetserver
    Id(puppetserver::IdOptions),
    /// Print a file of a version, as the code-content-command of a puppetserver
    Content(puppetserver::ContentOptions),
    /// Print how to configure a puppetserver on this machine
    PuppetserverSetup(puppetserver::SetupOptions),
    /// Print the URL that requests go to
    #[command(hide = true)]
    PrintConfig,
}

pub(crate) async fn run(
    verb: CodeVerb,
    connection: &ConnectionFlags,
    name: ProgramName,
    run_local: LocalRunner,
) -> VerbResult {
    let client = || ApiClient::with_token(connection);
    match verb {
        CodeVerb::Deploy(options) if options.place.local => run_local(CodeDeploy(options)).await,
        CodeVerb::Versions(options) if options.place.local => {
            run_local(CodeVersions(options)).await
        }
        CodeVerb::Rollback(options) if options.place.local => {
            run_local(CodeRollback(options)).await
        }
        CodeVerb::Verify(options) if options.place.local => run_local(CodeVerify(options)).await,
        CodeVerb::Deploy(options) => deploy::run(&options, &client()?, name).await,
        CodeVerb::Status(options) => status::run(&options, &client()?, name).await,
        CodeVerb::History(options) => history::run(&options, &client()?).await,
        CodeVerb::Versions(options) => versions::run(&options, &client()?).await,
        CodeVerb::Diff(options) => diff::run(&options, &client()?).await,
        CodeVerb::Impact(options) => impact::run(&options, &client()?).await,
        CodeVerb::Rollback(options) => rollback::run(&options, &client()?).await,
        CodeVerb::Promote(options) => promote::run(&options, &client()?).await,
        CodeVerb::Pin(options) => pin::run(options, &client()?).await,
        CodeVerb::Unpin { environment } => pin::unpin(environment, &client()?).await,
        CodeVerb::Gc(options) => gc::run(&options, &client()?).await,
        CodeVerb::Verify(options) => verify::run(&options, &client()?).await,
        CodeVerb::Id(options) => run_local(CodeId(options)).await,
        CodeVerb::Content(options) => run_local(CodeContent(options)).await,
        CodeVerb::PuppetserverSetup(options) => run_local(PuppetserverSetup(options)).await,
        CodeVerb::PrintConfig => status::print_config(connection),
    }
}
