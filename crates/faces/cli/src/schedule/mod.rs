//! `tutti schedule …`: scheduled jobs. Main type: [`ScheduleVerb`].

mod create;
mod read;
mod when;

use api_types::schedules::UpdateScheduledJob;
use serde_json::Value;

use crate::client::{ApiClient, route};
use crate::present::OutputOptions;
use crate::terminal::escape_control;
use crate::{EXIT_SUCCESS, VerbResult};

/// Route of the API.
pub(crate) const SCHEDULED: [&str; 4] =
    ["orchestrator", "v1", "scheduled_jobs", "environment_jobs"];

/// Verbs of `tutti schedule`.
#[derive(Debug, clap::Subcommand)]
pub enum ScheduleVerb {
    /// Schedule a task
    #[command(after_long_help = "Examples:
  tutti schedule task package --at 2027-01-10T02:00:00+01:00 -n web1.example.com \\
    action=upgrade name=openssl
  tutti schedule task backup --cron '30 2 * * 1-5' --timezone Europe/Berlin \\
    --node-group Databases --spread 15m")]
    Task(create::TaskOptions),
    /// Schedule a Puppet run
    #[command(after_long_help = "Examples:
  tutti schedule run --every 1d --query 'nodes[certname] { certname ~ \"^web\" }' --noop
  tutti schedule run --times 02:00,14:00 --weekdays sat,sun --blackout 12:00/13:00 \\
    --node-group 'Web servers'
  tutti schedule run --cron '0 3 * * 1' --node-group Cluster -e production --until-converged")]
    Run(create::RunOptions),
    /// Schedule a plan; its questions get their default answers, and fail without one
    #[command(after_long_help = "Examples:
  tutti schedule plan deploy::rollout --cron '30 2 * * 1' -n web1.example.com version=1.4.2
  tutti schedule plan shop::cleanup --every 1d --node-group 'Web servers'")]
    Plan(create::PlanOptions),
    /// List the scheduled jobs, the next to start first
    #[command(after_long_help = "Example:\n  tutti schedule list")]
    List {
        /// Only scheduled jobs of this type: task, deploy (Puppet runs) or plan
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        #[command(flatten)]
        shown: OutputOptions,
    },
    /// Show one scheduled job
    #[command(after_long_help = "Example:\n  tutti schedule show 3")]
    Show {
        /// Number of the scheduled job
        schedule: String,
        #[command(flatten)]
        shown: OutputOptions,
    },
    /// Show the next starts of a scheduled job
    #[command(after_long_help = "Example:\n  tutti schedule preview 3")]
    Preview {
        /// Number of the scheduled job
        schedule: String,
        #[command(flatten)]
        shown: OutputOptions,
    },
    /// Delete a scheduled job for ever; jobs that it started go on
    #[command(after_long_help = "Example:\n  tutti schedule delete 3")]
    Delete {
        /// Number of the scheduled job
        schedule: String,
    },
}

pub(crate) async fn run(verb: ScheduleVerb, client: &ApiClient) -> VerbResult {
    match verb {
        ScheduleVerb::Task(options) => Box::pin(create::task(options, client)).await,
        ScheduleVerb::Run(options) => Box::pin(create::run(options, client)).await,
        ScheduleVerb::Plan(options) => Box::pin(create::plan(options, client)).await,
        ScheduleVerb::List { kind, shown } => {
            read::list(kind.as_deref(), shown.format, client).await
        }
        ScheduleVerb::Show { schedule, shown } => {
            let job = read::fetch(client, &schedule).await?;
            shown.format.present(&job, read::print)
        }
        ScheduleVerb::Preview { schedule, shown } => {
            let job = read::fetch(client, &schedule).await?;
            let upcoming = &job.upcoming;
            shown
                .format
                .present(upcoming, |_| read::print_upcoming(&job))
        }
        ScheduleVerb::Delete { schedule } => {
            let change = UpdateScheduledJob {
                enabled: Some(false),
                ..UpdateScheduledJob::default()
            };
            let path = route(SCHEDULED, [&schedule]);
            let _: Value = client.put(&path, &change).await?;
            say!("Deleted scheduled job {}", escape_control(&schedule));
            Ok(EXIT_SUCCESS)
        }
    }
}
