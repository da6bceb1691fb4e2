//! `tutti plan steps ID`. Main type: [`Options`].

use api_types::{PlanStep, PlanSteps};
use serde_json::{Value, json as object};

use crate::client::Client;
use crate::defaults::PAGE;
use crate::output::{OutputOptions, json};
use crate::terminal::{self, harmless};
use crate::values::duration;
use crate::{EXIT_SUCCESS, Failure, Format, table};

/// Arguments of `tutti plan steps`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Number of the plan job
    job: String,
    /// Only steps in this state: running, sleeping, waiting, done, failed or dropped
    #[arg(long)]
    state: Option<String>,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let steps = all(client, options).await?;
    if options.shown.format == Format::Json {
        json(&object!({ "items": steps }));
        return Ok(EXIT_SUCCESS);
    }
    if steps.is_empty() {
        say!("No steps.");
        return Ok(EXIT_SUCCESS);
    }
    let heading = ["STEP", "STATUS", "TYPE", "JOB", "TOOK", "WHAT", "WHERE"];
    table::print(&heading, steps.iter().map(row).collect());
    Ok(EXIT_SUCCESS)
}

async fn all(client: &Client, options: &Options) -> Result<Vec<PlanStep>, Failure> {
    let mut steps = Vec::new();
    loop {
        let (limit, offset) = (PAGE.to_string(), steps.len().to_string());
        let mut query = vec![("limit", limit.as_str()), ("offset", offset.as_str())];
        query.extend(options.state.as_deref().map(|state| ("state", state)));
        let path = ["orchestrator", "v1", "plan_jobs", &options.job, "steps"];
        let page: PlanSteps = client.get(&path, &query).await?;
        let last = (page.items.len() as u64) < PAGE;
        steps.extend(page.items);
        if last {
            return Ok(steps);
        }
    }
}

fn row(step: &PlanStep) -> Vec<String> {
    let state = match step.state.as_str() {
        "done" => terminal::good("done"),
        "waiting" => terminal::warn("waiting"),
        other => terminal::state(other),
    };
    let until = |end: jiff::Timestamp| end.duration_since(step.started_timestamp.0).as_secs_f64();
    let took = match (step.finished_timestamp, step.until_timestamp) {
        (Some(end), _) => duration(until(end.0)),
        (None, Some(end)) => format!("until {end}"),
        (None, None) => String::new(),
    };
    let job = step.job.as_ref().map(|job| harmless(&job.name));
    vec![
        harmless(&step.step),
        state,
        harmless(&step.kind),
        job.unwrap_or_default(),
        took,
        what(&step.arguments),
        harmless(&step.site),
    ]
}

/// The arguments of a step in one line.
fn what(arguments: &Value) -> String {
    match arguments {
        Value::Null => String::new(),
        Value::String(text) => harmless(text),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| match value {
                Value::String(text) => format!("{}={}", harmless(key), harmless(text)),
                other => format!("{}={}", harmless(key), harmless(&other.to_string())),
            };
            fields.iter().map(field).collect::<Vec<_>>().join(" ")
        }
        other => harmless(&other.to_string()),
    }
}
