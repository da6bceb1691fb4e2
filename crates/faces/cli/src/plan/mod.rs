//! `tutti plan …`. Main type: [`PlanVerb`].

mod events;
pub(crate) mod follow;
mod preview;
mod question;
mod read;
pub(crate) mod requests;
mod run;
mod running;
mod steps;
mod targets;

pub(crate) use self::read::print_questions;
pub(crate) use self::targets::PlanTargets;
use crate::access::login;
use crate::client::ApiClient;
use crate::failure::usage;
use crate::settings::ConnectionFlags;
use crate::{Result, VerbResult};

/// Verbs of `tutti plan`.
#[derive(Debug, clap::Subcommand)]
pub enum PlanVerb {
    /// Run a plan and watch it
    #[command(after_long_help = "Examples:
  tutti plan run deploy::rollout version=1.4.2 -n web1.example.com,web2.example.com
  tutti plan run deploy::rollout --query 'nodes[certname] { certname ~ \"^web\" }'
  tutti plan run deploy::rollout --params @rollout.json --no-wait
  tutti plan run deploy::rollout --params @rollout.json --noop

What the plan asks is answered here where this is a terminal, and with `tutti plan approve` elsewhere.
Ctrl-C asks the server to stop the plan; a second Ctrl-C leaves it alone.")]
    Run(run::Options),
    /// Show one plan and its parameters; without a name, list the plans
    #[command(after_long_help = "Examples:\n  tutti plan show\n  tutti plan show deploy::rollout")]
    Show(read::ShowOptions),
    /// List the plans of an environment
    #[command(after_long_help = "Example:\n  tutti plan list --environment test")]
    List(read::ListOptions),
    /// List the plan jobs, or show one with its events and its result
    #[command(after_long_help = "Examples:\n  tutti plan jobs --limit 5\n  tutti plan jobs 12")]
    Jobs(read::JobsOptions),
    /// Show the events of a plan job, and optionally watch it
    #[command(
        after_long_help = "Examples:\n  tutti plan events 12\n  tutti plan events 12 --follow"
    )]
    Events(events::Options),
    /// Show the steps of a plan job
    #[command(after_long_help = "Examples:
  tutti plan steps 12
  tutti plan steps 12 --state failed")]
    Steps(steps::Options),
    /// Answer a plan that waits for input: approve, deny, or give a text
    #[command(
        visible_alias = "answer",
        after_long_help = "Examples:
  tutti plan approve 12
  tutti plan approve 12 4 --deny
  tutti plan approve 12 2.1 --answer blue
  head -n 1 password | tutti plan approve 12 --answer -"
    )]
    Approve(running::ApproveOptions),
    /// Stop a plan job
    #[command(after_long_help = "Example:\n  tutti plan stop 12 --jobs")]
    Stop {
        /// Number of the plan job
        job: String,
        /// Also stop the jobs that it started
        #[arg(long)]
        jobs: bool,
    },
    /// Resume a failed plan: from the step that failed last, or from another one
    #[command(
        visible_alias = "retry",
        after_long_help = "Examples:
  tutti plan resume 12
  tutti plan resume 12 --from-step 2.1 --no-wait"
    )]
    Resume(running::ResumeOptions),
}

pub(crate) async fn run(verb: PlanVerb, connection: &ConnectionFlags) -> VerbResult {
    let client = client(&verb, connection).await?;
    match verb {
        PlanVerb::Run(options) => Box::pin(run::run(options, &client)).await,
        PlanVerb::Show(options) => read::show(&options, &client).await,
        PlanVerb::List(options) => read::list(&options, &client).await,
        PlanVerb::Jobs(options) => read::jobs(&options, &client).await,
        PlanVerb::Events(options) => Box::pin(events::run(&options, &client)).await,
        PlanVerb::Steps(options) => steps::run(&options, &client).await,
        PlanVerb::Approve(options) => Box::pin(running::approve(options, &client)).await,
        PlanVerb::Stop { job, jobs } => running::stop(&job, jobs, &client).await,
        PlanVerb::Resume(options) => Box::pin(running::resume(options, &client)).await,
    }
}

/// A client with the token of the token file, or with that of the user given by --user.
async fn client(verb: &PlanVerb, connection: &ConnectionFlags) -> Result<ApiClient> {
    let PlanVerb::Run(run::Options { user, password, .. }) = verb else {
        return ApiClient::with_token(connection);
    };
    if password.is_some() {
        return usage(
            "--password would show the password to every user of this machine; leave it out: it is asked for, or \
                    read from standard input",
        );
    }
    match user {
        Some(user) => Box::pin(login::log_in(user.clone(), connection)).await,
        None => ApiClient::with_token(connection),
    }
}
