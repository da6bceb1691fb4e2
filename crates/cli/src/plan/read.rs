//! `tutti plan show` and `tutti plan jobs`.

use api_types::{PlanDetail, PlanEvents, PlanJob, PlanJobList, PlanList};
use serde_json::{Value, json as object};

use crate::client::Client;
use crate::defaults::JOBS_SHOWN;
use crate::shown::{Shown, json};
use crate::terminal::{self, dim, harmless};
use crate::values::{duration, result_lines};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, Format, table, task};

/// Which.
#[derive(Debug, clap::Args)]
pub struct Show {
    /// The plan, such as deploy or deploy::rollout; absent: all
    plan: Option<String>,
    /// Also plans that you may not run
    #[arg(long, conflicts_with = "plan")]
    all: bool,
    #[command(flatten)]
    environment: task::Environment,
    #[command(flatten)]
    shown: Shown,
}

/// Which.
#[derive(Debug, clap::Args)]
pub struct Jobs {
    /// The plan job's number; absent: the newest are listed
    job: Option<String>,
    #[command(flatten)]
    shown: Shown,
}

pub(super) async fn show(options: &Show, client: &Client) -> Result<u8, Failure> {
    let environment = options.environment.of(client);
    let query = [("environment", environment.as_str())];
    let Some(plan) = &options.plan else {
        let mut list: PlanList = client.get(&["orchestrator", "v1", "plans"], &query).await?;
        list.items.retain(|plan| options.all || plan.permitted);
        if options.shown.format == Format::Json {
            json(&list);
            return Ok(EXIT_SUCCESS);
        }
        if list.items.is_empty() {
            say!("No plans in environment {}.", harmless(&environment));
        }
        for plan in &list.items {
            let mark = if plan.permitted {
                ""
            } else {
                "  (not permitted)"
            };
            say!("{}{}", terminal::name(harmless(&plan.name)), dim(mark));
        }
        return Ok(EXIT_SUCCESS);
    };
    let (module, name) = task::segments(plan);
    let path = ["orchestrator", "v1", "plans", module, name];
    let detail: PlanDetail = client.get(&path, &query).await?;
    match options.shown.format {
        Format::Json => json(&detail),
        Format::Human => print(&detail),
    }
    Ok(EXIT_SUCCESS)
}

fn print(detail: &PlanDetail) {
    let name = harmless(&detail.name);
    let description = detail.metadata.get("description").and_then(Value::as_str);
    say!(
        "{}  {}\n",
        terminal::heading(&name),
        harmless(description.unwrap_or_default())
    );
    let parameters = detail.metadata.get("parameters").and_then(Value::as_object);
    let names = parameters.into_iter().flatten();
    let needed: Vec<_> = names
        .filter(|(_, about)| about.get("default_value").is_none())
        .map(|(key, _)| format!(" {}=…", harmless(key)))
        .collect();
    say!("  tutti plan run {name}{}\n", needed.concat());
    for (key, about) in parameters.into_iter().flatten() {
        let kind = harmless(about["type"].as_str().unwrap_or("Any"));
        say!("  {}  {}", terminal::name(harmless(key)), dim(kind));
    }
}

pub(super) async fn jobs(options: &Jobs, client: &Client) -> Result<u8, Failure> {
    let Some(number) = &options.job else {
        return list(options.shown.format, client).await;
    };
    let path = ["orchestrator", "v1", "plan_jobs", number.as_str()];
    let job: PlanJob = client.get(&path, &[]).await?;
    let path: Vec<_> = path.into_iter().chain(["events"]).collect();
    let events: PlanEvents = client.get(&path, &[]).await?;
    match options.shown.format {
        Format::Json => json(&object!({"plan_job": job, "events": events.items})),
        Format::Human => {
            for event in &events.items {
                let time = dim(event.timestamp);
                let kind = terminal::name(harmless(&event.kind));
                say!("{time}  {kind}  {}", harmless(&event.message));
            }
            outcome(&job);
        }
    }
    Ok(match job.state.as_str() {
        "failure" => EXIT_NODES_FAILED,
        _ => EXIT_SUCCESS,
    })
}

async fn list(format: Format, client: &Client) -> Result<u8, Failure> {
    let limit = JOBS_SHOWN.to_string();
    let query = [
        ("order_by", "name"),
        ("order", "desc"),
        ("limit", limit.as_str()),
        ("results", "exclude"),
    ];
    let list: PlanJobList = client
        .get(&["orchestrator", "v1", "plan_jobs"], &query)
        .await?;
    if format == Format::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No plan jobs yet.");
        return Ok(EXIT_SUCCESS);
    }
    let rows = list.items.iter().map(|job| {
        vec![
            harmless(&job.name),
            terminal::state(&job.state),
            plan(job),
            job.duration.map_or_else(String::new, duration),
            job.created_timestamp.to_string(),
            harmless(&job.owner.login),
        ]
    });
    let heading = ["ID", "STATUS", "PLAN", "TOOK", "STARTED", "OWNER"];
    table::print(&heading, rows.collect());
    Ok(EXIT_SUCCESS)
}

/// How a plan job ended, and with what.
pub(super) fn outcome(job: &PlanJob) {
    let took = job
        .duration
        .map_or_else(String::new, |took| format!(" in {}", duration(took)));
    say!(
        "\nPlan job {} {}: {}{took}",
        harmless(&job.name),
        terminal::state(&job.state),
        plan(job)
    );
    let result = job.result.as_ref().filter(|result| !result.is_null());
    for line in result.into_iter().flat_map(result_lines) {
        say!("    {line}");
    }
}

fn plan(job: &PlanJob) -> String {
    let name = job.options.get("plan_name").and_then(Value::as_str);
    harmless(name.unwrap_or_default())
}
