//! `tutti plan run` and `tutti plan stop`.

use api_types::{PlanEvent, PlanEvents, PlanJob, PlanName, PlanRunCommand, StopPlanCommand};

use super::read;
use crate::client::Client;
use crate::defaults::PLAN_POLL;
use crate::shown::{Shown, json};
use crate::terminal::{self, harmless};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, Format, params, task};

/// What to run.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The plan, such as deploy or deploy::rollout
    plan: String,
    /// Parameters: what is JSON is taken as JSON, the rest as text
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All parameters as a JSON object, or @FILE
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    #[command(flatten)]
    environment: task::Environment,
    /// How long the plan may take: seconds, or 15m, 4h, 1d
    #[arg(long, value_name = "TIME", value_parser = crate::span::seconds)]
    timeout: Option<u64>,
    /// Why; kept with the plan job
    #[arg(long)]
    description: Option<String>,
    /// Print the plan job's number and do not wait
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    shown: Shown,
}

/// Which.
#[derive(Debug, clap::Args)]
pub struct Stop {
    /// The plan job's number
    job: String,
    /// Stop the jobs that it began, too
    #[arg(long)]
    jobs: bool,
}

pub(super) async fn run(options: Options, client: &Client) -> Result<u8, Failure> {
    let command = PlanRunCommand {
        plan_name: options.plan.clone(),
        params: params::parse(&options.pairs, options.params.as_deref(), |_| false)?,
        environment: options.environment.of(client),
        description: options.description.unwrap_or_default(),
        userdata: api_types::Object::new(),
        timeout: options.timeout,
    };
    let path = ["orchestrator", "v1", "command", "plan_run"];
    let started: PlanName = client.post(&path, &command).await?;
    let number = started.name;
    if options.no_wait {
        say!("{number}");
        return Ok(EXIT_SUCCESS);
    }
    let format = options.shown.format;
    if format == Format::Human {
        let (number, plan) = (terminal::heading(&number), harmless(&options.plan));
        say!("Plan job {number}: {}\n", terminal::heading(plan));
    }
    watch(client, &number, format).await
}

/// Prints events until there is the last one. There is no stream of plan events: they are asked for.
async fn watch(client: &Client, number: &str, format: Format) -> Result<u8, Failure> {
    let mut start = "0".to_owned();
    loop {
        let path = ["orchestrator", "v1", "plan_jobs", number, "events"];
        let events: PlanEvents = client.get(&path, &[("start", start.as_str())]).await?;
        if format == Format::Human {
            events.items.iter().for_each(print);
        }
        if events.items.iter().any(is_last) {
            break;
        }
        start = events.next_events.event;
        tokio::time::sleep(PLAN_POLL).await;
    }
    let path = ["orchestrator", "v1", "plan_jobs", number];
    let job: PlanJob = client.get(&path, &[]).await?;
    match format {
        Format::Json => json(&job),
        Format::Human => read::outcome(&job),
    }
    Ok(match job.state.as_str() {
        "success" => EXIT_SUCCESS,
        _ => EXIT_NODES_FAILED,
    })
}

fn print(event: &PlanEvent) {
    let text = match event.message.is_empty() {
        true => event.kind.as_str(),
        false => event.message.as_str(),
    };
    for line in text.lines() {
        say!("{}", harmless(line));
    }
}

fn is_last(event: &PlanEvent) -> bool {
    matches!(event.kind.as_str(), "plan_finished" | "plan_failed")
}

pub(super) async fn stop(options: &Stop, client: &Client) -> Result<u8, Failure> {
    let command = StopPlanCommand {
        plan_job: options.job.clone(),
        jobs: options.jobs,
    };
    let path = ["orchestrator", "v1", "command", "stop_plan"];
    let stopped: PlanName = client.post(&path, &command).await?;
    say!("Stopping plan job {}", harmless(&stopped.name));
    Ok(EXIT_SUCCESS)
}
