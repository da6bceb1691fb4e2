//! `tutti plan steps ID`. Main type: [`ConfigFileKeys`].

use api_types::{PlanStep, PlanSteps};
use serde_json::{Value, json as object};

use crate::client::ApiClient;
use crate::defaults::PAGE;
use crate::present::{OutputOptions, json};
use crate::terminal::{self, escape_control};
use crate::values::duration;
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, VerbResult, table};

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

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let steps = fetch_steps(client, options).await?;
    if options.shown.format == OutputFormat::Json {
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

async fn fetch_steps(
    client: &ApiClient,
    options: &Options,
) -> Result<Vec<PlanStep>, CommandFailure> {
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
        "done" => terminal::style_success("done"),
        "waiting" => terminal::style_warning("waiting"),
        other => terminal::style_state(other),
    };
    let until = |end: jiff::Timestamp| end.duration_since(step.started_timestamp.0).as_secs_f64();
    let took = match (step.finished_timestamp, step.until_timestamp) {
        (Some(end), _) => duration(until(end.0)),
        (None, Some(end)) => format!("until {end}"),
        (None, None) => String::new(),
    };
    let job = step.job.as_ref().map(|job| escape_control(&job.name));
    vec![
        escape_control(&step.step),
        state,
        escape_control(&step.kind),
        job.unwrap_or_default(),
        took,
        format_arguments(&step.arguments),
        escape_control(&step.site),
    ]
}

/// The arguments of a step in one line.
fn format_arguments(arguments: &Value) -> String {
    match arguments {
        Value::Null => String::new(),
        Value::String(text) => escape_control(text),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| match value {
                Value::String(text) => format!("{}={}", escape_control(key), escape_control(text)),
                other => format!(
                    "{}={}",
                    escape_control(key),
                    escape_control(&other.to_string())
                ),
            };
            fields.iter().map(field).collect::<Vec<_>>().join(" ")
        }
        other => escape_control(&other.to_string()),
    }
}
