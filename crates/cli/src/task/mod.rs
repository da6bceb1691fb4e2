//! `tutti task …`. Main type: [`Verb`].

mod list;
mod run;
mod show;

use crate::Failure;
use crate::client::Client;
use crate::settings::Connection;

/// What can be done with tasks.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// Run a task and watch it
    Run(run::Options),
    /// Show one task: what it does, its parameters, its files
    Show(show::Options),
    /// List the tasks of an environment
    List(list::Options),
}

/// Where the task's code is.
#[derive(Debug, clap::Args)]
pub(crate) struct Environment {
    /// The environment whose code is used
    #[arg(long, short = 'e', default_value = "production", value_name = "NAME")]
    environment: String,
}

pub(crate) async fn run(verb: Verb, connection: &Connection) -> Result<u8, Failure> {
    let client = Client::with_token(connection)?;
    match verb {
        Verb::Run(options) => Box::pin(run::run(options, &client)).await,
        Verb::Show(options) => show::run(&options, &client).await,
        Verb::List(options) => list::run(&options, &client).await,
    }
}

/// `module::task` as the two segments of its route.
fn segments(task: &str) -> (&str, &str) {
    task.split_once("::").unwrap_or((task, "init"))
}
