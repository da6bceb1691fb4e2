//! `tutti plan steps ID`. Main type: [`Options`].

use api_types::{PlanStep, PlanSteps};
use serde_json::{Value, json};

use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, style_state, style_success, style_warning};
use crate::values::{duration, or_empty, plain};

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
    let path = ["orchestrator", "v1", "plan_jobs", &options.job, "steps"];
    let items = |page: PlanSteps| page.items;
    let steps = client
        .all_pages(&path, options.state.as_deref(), items)
        .await?;
    options.shown.format.list(
        &json!({ "items": steps }),
        &steps,
        "No steps.",
        &[
            ("STEP", &|step| escape_control(&step.step)),
            ("STATUS", &|step| match step.state.as_str() {
                "done" => style_success("done"),
                "waiting" => style_warning("waiting"),
                other => style_state(other),
            }),
            ("TYPE", &|step| escape_control(&step.kind)),
            ("JOB", &|step| {
                or_empty(step.job.as_ref().map(|job| escape_control(&job.name)))
            }),
            ("TOOK", &describe_time),
            ("WHAT", &|step| format_arguments(&step.arguments)),
            ("WHERE", &|step| escape_control(&step.site)),
        ],
    )
}

/// The time that a step took, or until which it sleeps.
fn describe_time(step: &PlanStep) -> String {
    let until = |end: jiff::Timestamp| end.duration_since(step.started_timestamp.0).as_secs_f64();
    match (step.finished_timestamp, step.until_timestamp) {
        (Some(end), _) => duration(until(end.0)),
        (None, Some(end)) => format!("until {end}"),
        (None, None) => String::new(),
    }
}

/// The arguments of a step in one line.
fn format_arguments(arguments: &Value) -> String {
    match arguments {
        Value::Null => String::new(),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| format!("{key}={}", plain(value));
            escape_control(&fields.iter().map(field).collect::<Vec<_>>().join(" "))
        }
        other => escape_control(&plain(other)),
    }
}
