//! Ordered runs of nodes that wait for each other, pass by pass: [`run_passes`].
//!
//! The passes are steps of a plan, so that they go on after a restart of the server; [`PassProgress`] decides which nodes
//! take part, and does no I/O. Invariant: a node does not run if its own run in an earlier pass did not succeed, or that
//! of a node that it waits for.

mod built_in;
mod outcome;
mod progress;
#[cfg(test)]
mod tests;

use jobs::{JobSpec, JobWork, KIND_MAX_FAILURES, KIND_STOPPED, NodeScope, PuppetWork, RunPass};
use plans::{PlanBranch, PlanEventMessage, PlanFault, StepOutcome, StepRequest, StepWork};
use serde_json::{Map, Value, json};

pub use self::built_in::{BuiltInPasses, InvalidMultiPass, MultiPassLaunch};
pub use self::outcome::{MultiPassOutcome, MultiPassState, UnsuccessfulNode};
pub use self::progress::{NextPass, PassProgress};
use crate::defaults::PARTIAL_RUNS_NAMED;
use crate::descriptions::summarize_runs;
use crate::node_run::NodeRun;
use crate::outcome::count_nodes;

/// Runs Puppet on the nodes of the passes. `job` has what all passes share; its nodes do not count.
///
/// # Errors
/// A pass could not be started, or the plan has to end. Nodes without success are no error.
pub fn run_passes(
    branch: &PlanBranch<'_>,
    (job, work): (&JobSpec, &PuppetWork),
    passes: Vec<RunPass>,
    site: &str,
) -> Result<MultiPassOutcome, PlanFault> {
    let steps = PassSteps { branch, site };
    let count = passes.len();
    let mut progress = PassProgress::new(passes);
    while let Some(next) = progress.next_pass() {
        let NextPass { number, pass } = next;
        steps.tell("pass_started", number, &describe_pass(number, count, &pass))?;
        let work = PuppetWork {
            pass: Some(pass.clone()),
            ..work.clone()
        };
        let nodes = pass.nodes.iter().map(|run| run.node.clone()).collect();
        let job = JobSpec {
            work: JobWork::Puppet(work),
            scope: NodeScope::Nodes(nodes),
            nodes: None,
            ..job.clone()
        };
        let (runs, is_halted) = steps.run(number, job)?;
        let text = format!("pass {number}: {}", summarize_runs(&runs));
        progress.record_pass(runs, is_halted);
        steps.tell("pass_ended", number, &text)?;
    }
    let outcome = progress.into_outcome();
    steps.tell("passes_ended", outcome.passes, &outcome.describe())?;
    Ok(outcome)
}

/// The steps of the passes.
struct PassSteps<'a> {
    branch: &'a PlanBranch<'a>,
    site: &'a str,
}

// === impl PassSteps ===

impl PassSteps<'_> {
    /// Runs Puppet and waits for all nodes. Returns also whether no further pass may start.
    fn run(&self, number: u32, job: JobSpec) -> Result<(Vec<NodeRun>, bool), PlanFault> {
        let nodes = match &job.scope {
            NodeScope::Nodes(nodes) => json!(nodes),
            _ => Value::Null,
        };
        let arguments = json!({"pass": number, "on": nodes});
        let outcome = self.step("puppet", arguments, StepWork::Run(Box::new(job)))?;
        let Some(results) = outcome.value["results"].as_array() else {
            // The engine refused the job.
            return Err(PlanFault::Failed((*outcome.value).clone()));
        };
        let is_halted = outcome.value["state"] == "stopped" || results.iter().any(is_halt);
        let runs = results.iter().filter_map(NodeRun::from_result);
        Ok((runs.collect(), is_halted))
    }

    /// Adds a message to the events of the plan job. The text distinguishes no steps, so that another version of the
    /// server may have other words.
    fn tell(&self, kind: &str, number: u32, text: &str) -> Result<(), PlanFault> {
        let message = PlanEventMessage {
            kind: kind.to_owned(),
            details: Map::from_iter([("message".to_owned(), Value::from(text))]),
            message: text.to_owned(),
        };
        let arguments = json!({"pass": number, "kind": kind});
        self.step("event", arguments, StepWork::RecordEvent(message))
            .map(drop)
    }

    fn step(
        &self,
        kind: &'static str,
        arguments: Value,
        work: StepWork,
    ) -> Result<StepOutcome, PlanFault> {
        self.branch.step(StepRequest {
            kind: kind.into(),
            site: self.site.to_owned(),
            arguments,
            work,
        })
    }
}

/// True for the result of a node that was not started because its job was stopped or has too many failures.
fn is_halt(result: &Value) -> bool {
    let kind = result["value"]["_error"]["kind"].as_str();
    kind.is_some_and(|kind| [KIND_STOPPED, KIND_MAX_FAILURES].contains(&kind))
}

/// The start of a pass in a line, with the nodes that run again.
fn describe_pass(number: u32, count: usize, pass: &RunPass) -> String {
    let nodes = count_nodes(pass.nodes.len());
    let partial: Vec<_> = pass
        .nodes
        .iter()
        .filter(|run| !run.left_out.is_empty())
        .collect();
    let mut named: Vec<String> = partial
        .iter()
        .take(PARTIAL_RUNS_NAMED)
        .map(|run| {
            let components = run.left_out.iter().take(PARTIAL_RUNS_NAMED);
            let components: Vec<&str> = components.map(|it| it.reference.as_str()).collect();
            let more = match run.left_out.len().saturating_sub(PARTIAL_RUNS_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!(
                "{} runs again for {}{more}",
                run.node,
                components.join(", ")
            )
        })
        .collect();
    if partial.len() > PARTIAL_RUNS_NAMED {
        named.push(format!(
            "{} more run again",
            partial.len() - PARTIAL_RUNS_NAMED
        ));
    }
    match named.is_empty() {
        true => format!("pass {number} of {count}: {nodes}"),
        false => format!("pass {number} of {count}: {nodes}; {}", named.join("; ")),
    }
}
