//! `tutti job …`. Main type: [`Verb`].

mod list;
mod show;
mod stop;

use crate::Failure;
use crate::client::Client;
use crate::settings::Connection;

/// What can be done with jobs.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// List the newest jobs
    List(list::Options),
    /// Show one job with its nodes and their results
    Show(show::Options),
    /// Stop a job: nothing new starts; with --force the running actions are ended too
    Stop(stop::Options),
}

pub(crate) async fn run(verb: Verb, connection: &Connection) -> Result<u8, Failure> {
    let client = Client::with_token(connection)?;
    match verb {
        Verb::List(options) => list::run(&options, &client).await,
        Verb::Show(options) => show::run(&options, &client).await,
        Verb::Stop(options) => stop::run(options, &client).await,
    }
}
