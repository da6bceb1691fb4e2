//! `tutti job …`. Main type: [`JobVerb`].

mod converge;
pub(crate) mod list;
mod multi_pass;
mod plan;
pub(crate) mod puppet;
mod puppet_plan;
pub(crate) mod requests;
pub(crate) mod run;
pub(crate) mod run_mode;
mod show;
mod stop;

use crate::VerbResult;
use crate::client::ApiClient;

/// Verbs of `tutti job`.
#[derive(Debug, clap::Subcommand)]
pub enum JobVerb {
    /// Run Puppet on nodes and watch it
    #[command(after_long_help = "Examples:
  tutti job run --nodes web1.example.com,web2.example.com
  tutti job run --query 'nodes[certname] { certname ~ \"^web\" }' --noop
  tutti job run --node-group 'Web servers' --environment production --concurrency 5
  tutti job run --application 'Lamp[app1]' --environment production
  tutti job run --failed-of 81
  tutti job run --nodes n1,n2,n3 --environment production --until-converged

Ctrl-C asks the server to stop the job; a second Ctrl-C leaves it alone. With --until-converged it
starts no other wave, and the runs of the current one go on.")]
    Run(Box<run::Options>),
    /// Show the nodes that `job run` would run on, and start nothing
    #[command(after_long_help = "Example:
  tutti job plan --query 'nodes[certname] { certname ~ \"^web\" }'")]
    Plan(plan::Options),
    /// List the newest jobs
    #[command(after_long_help = "Examples:
  tutti job list --type deploy --limit 5
  tutti job list --node web1.example.com --state failed
  tutti job list --owner anna")]
    List(list::Options),
    /// Show one job with its nodes and their results; without a number, list the newest jobs
    #[command(after_long_help = "Examples:
  tutti job show 81
  tutti job show 81 --follow
  tutti job show 81 --state failed,errored
  tutti job show 81 --format json | jq -r '.items[] | select(.state == \"failed\") | .name'")]
    Show(show::Options),
    /// Stop a job: no more nodes start; with --force, running actions are killed too
    #[command(after_long_help = "Example:\n  tutti job stop 81 --force")]
    Stop {
        /// Number of the job
        job: String,
        /// Kill running actions, with every process that they started
        #[arg(long)]
        force: bool,
    },
}

pub(crate) async fn run(verb: JobVerb, client: &ApiClient) -> VerbResult {
    match verb {
        JobVerb::Run(options) => Box::pin(run::run(*options, client)).await,
        JobVerb::Plan(options) => plan::run(&options, client).await,
        JobVerb::List(options) => list::run(&options, client).await,
        JobVerb::Show(options) => Box::pin(show::run(&options, client)).await,
        JobVerb::Stop { job, force } => stop::run(job, force, client).await,
    }
}
