//! Ordered runs of nodes that wait for each other, pass by pass: [`run_passes`].
//!
//! The passes are steps of a plan, so that they go on after a restart of the server; [`PassProgress`] decides which nodes
//! take part, and does no I/O. Invariant: a node does not run if its own run in an earlier pass did not succeed, or that
//! of a node that it waits for.

mod built_in;
mod outcome;
mod planning;
mod progress;
#[cfg(test)]
mod tests;

use jobs::{JobSpec, JobWork, NodeScope, PuppetWork, RunPass, RunPasses};
use plans::{PlanBranch, PlanFault};
use serde_json::{Value, json};

pub use self::built_in::{BuiltInPasses, InvalidMultiPass, MultiPassLaunch};
pub use self::outcome::{MultiPassOutcome, MultiPassState, UnsuccessfulNode};
pub use self::planning::{PassPlanner, PassRequest, plan_passes};
pub use self::progress::{NextPass, PassProgress};
use crate::defaults::PARTIAL_RUNS_NAMED;
use crate::descriptions::summarize_runs;
use crate::outcome::count_nodes;
use crate::plan_steps::{PuppetSteps, named_nodes};

/// Runs Puppet on the nodes of the passes. `job` has what all passes share; its nodes do not count. `take_results` gets the
/// results of the nodes of each pass, in the form of a job's outcome, and at last those of nodes that do not run because of
/// an earlier pass.
///
/// # Errors
/// A pass could not be started, or the plan has to end. Nodes without success are no error.
pub fn run_passes(
    branch: &PlanBranch<'_>,
    (job, work): (&JobSpec, &PuppetWork),
    planned: RunPasses,
    site: &str,
    take_results: &mut dyn FnMut(&[Value]),
) -> Result<MultiPassOutcome, PlanFault> {
    let steps = PuppetSteps { branch, site };
    let count = planned.passes.len();
    let mut progress = PassProgress::new(planned);
    while let Some(next) = progress.next_pass() {
        let NextPass {
            number,
            pass,
            lease,
        } = next;
        let started = describe_pass(number, count, &pass);
        steps.tell(("pass", number), "pass_started", &started)?;
        let work = PuppetWork {
            pass: Some(pass.clone()),
            pass_lease: lease,
            ..work.clone()
        };
        let nodes = pass.nodes.iter().map(|run| run.node.clone()).collect();
        let job = JobSpec {
            work: JobWork::Puppet(work),
            scope: NodeScope::Nodes(nodes),
            nodes: None,
            ..job.clone()
        };
        let arguments = json!({"pass": number, "on": named_nodes(&job)});
        let ended = steps.run_job(arguments, job)?;
        take_results(ended.results());
        let runs = ended.runs();
        let text = format!("pass {number}: {}", summarize_runs(&runs));
        progress.record_pass(runs, ended.is_halted());
        steps.tell(("pass", number), "pass_ended", &text)?;
    }
    take_results(&progress.results_without_run());
    let outcome = progress.into_outcome();
    let passes = ("pass", outcome.passes);
    steps.tell(passes, "passes_ended", &outcome.describe())?;
    Ok(outcome)
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
