//! `tutti plan …`. Main type: [`Verb`].

mod read;
mod run;

use crate::Failure;
use crate::client::Client;
use crate::settings::Connection;

/// What can be done with plans.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Run a plan and watch it
    #[command(after_long_help = "Example:
  tutti plan run deploy::rollout version=1.4.2 nodes=web1.example.com,web2.example.com")]
    Run(run::Options),
    /// Show one plan and its parameters; without a name, list the plans
    #[command(after_long_help = "Examples:\n  tutti plan show\n  tutti plan show deploy::rollout")]
    Show(read::Show),
    /// List the plan jobs, or show one with its steps
    #[command(after_long_help = "Examples:\n  tutti plan jobs\n  tutti plan jobs 12")]
    Jobs(read::Jobs),
    /// Stop a plan job
    #[command(after_long_help = "Example:\n  tutti plan stop 12")]
    Stop(run::Stop),
}

pub(crate) async fn run(verb: Verb, connection: &Connection) -> Result<u8, Failure> {
    let client = Client::with_token(connection)?;
    match verb {
        Verb::Run(options) => run::run(options, &client).await,
        Verb::Show(options) => read::show(&options, &client).await,
        Verb::Jobs(options) => read::jobs(&options, &client).await,
        Verb::Stop(options) => run::stop(&options, &client).await,
    }
}
