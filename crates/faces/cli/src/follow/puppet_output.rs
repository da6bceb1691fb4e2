//! Output of jobs under the names of Puppet Enterprise's tools: the lines that scripts look for.
//!
//! Invariant: each line is complete in itself, and none depends on a terminal.

use api_types::Job;
use serde_json::Value;

use crate::terminal::{escape_control, escaped_name, style_failure, style_success, style_warning};
use crate::values::result_lines;

/// The lines of a new job.
pub(super) fn job_created_lines(job: &Job) -> [String; 3] {
    [
        format!("New job ID: {}", escape_control(&job.name)),
        format!("Nodes: {}", job.node_count),
        String::new(),
    ]
}

/// The line of a node that starts.
pub(super) fn node_started_line(node: &str) -> String {
    format!("Started on {} ...", escaped_name(node))
}

/// The lines of a node that ended in `state`.
pub(super) fn node_ended_lines(
    node: &str,
    state: &str,
    result: &Value,
    message: &str,
) -> Vec<String> {
    let word = match state {
        "finished" => style_success("Finished"),
        "skipped" => style_warning("Skipped"),
        _ => style_failure("Failed"),
    };
    let mut lines = vec![format!("{word} on node {}", escaped_name(node))];
    let output = result.get("_output").and_then(Value::as_str);
    if let Some(output) = output.filter(|text| !text.is_empty()) {
        lines.push("  STDOUT:".to_owned());
        let output = output.lines().map(escape_control);
        lines.extend(output.map(|line| format!("    {line}")));
    }
    let mut rest = result.clone();
    if let Value::Object(fields) = &mut rest {
        fields.remove("_output");
    }
    match rest {
        Value::Null => lines
            .extend(Some(format!("  {}", escape_control(message))).filter(|_| !message.is_empty())),
        rest => lines.extend(result_lines(&rest).iter().map(|line| format!("  {line}"))),
    }
    lines
}

/// The last lines of a job.
pub(super) fn job_completed_lines(job: &Job) -> [String; 2] {
    let states = job.node_states.clone().unwrap_or_default();
    let count = |state: &str| states.get(state).copied().unwrap_or(0);
    let (good, all) = (count("finished"), job.node_count);
    let outcome = match good == all && job.state == "finished" {
        true => format!("Job completed. {good}/{all} nodes succeeded."),
        false => {
            let (failed, skipped) = (count("failed") + count("errored"), count("skipped"));
            let nodes = |count: u64| if count == 1 { "node" } else { "nodes" };
            format!(
                "Job {}. {failed} {} failed, {skipped} {} skipped, {good} {} succeeded.",
                escape_control(&job.state),
                nodes(failed),
                nodes(skipped),
                nodes(good),
            )
        }
    };
    let seconds = job.duration.unwrap_or(0.0).round() as u64;
    [outcome, format!("Duration: {seconds} sec")]
}
