//! The waves as steps of a plan: [`converge`].
//!
//! Invariant: everything that decides on the next wave is the outcome of a step, so a plan that is evaluated again
//! after a restart finds the wave that was under way.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jobs::{JobSpec, NodeScope};
use plans::{
    LocalEffect, PlanBranch, PlanEventMessage, PlanFault, StepOutcome, StepRequest, StepWork,
};
use serde_json::{Map, Value, json};

use crate::node_run::{NodeRun, RunEnd};
use crate::options::ConvergenceOptions;
use crate::outcome::ConvergenceOutcome;
use crate::progress::{ConvergenceProgress, NextWave, RerunCounts};

/// Kind of the error of nodes that have not converged.
pub const NOT_CONVERGED: &str = "tutti/not-converged";

/// Knows whether catalogs of this server were compiled from data of other nodes that have changed since.
#[async_trait]
pub trait ImportedData: fmt::Debug + Send + Sync {
    /// Those of the nodes whose last catalogs were compiled from exported resources, capabilities or other data of
    /// nodes with other values than now. The error is a message.
    async fn changed(&self, certnames: &[String]) -> Result<Vec<String>, String>;
}

/// Runs to be repeated.
#[derive(Debug)]
pub struct ConvergenceRequest<'a> {
    /// The runs of the first wave. Its work is that of all waves.
    pub job: &'a JobSpec,
    pub options: ConvergenceOptions,
    pub imported_data: &'a Arc<dyn ImportedData>,
    /// Position in the plan's code, for users.
    pub site: &'a str,
}

/// Runs Puppet on the nodes of the job, and again on those that have reason to. `take_results` gets the results of the
/// nodes of each wave, in the form of a job's outcome.
///
/// # Errors
/// A wave could not be started, or the plan has to end. Nodes that have not converged are no error.
pub fn converge(
    branch: &PlanBranch<'_>,
    request: &ConvergenceRequest<'_>,
    take_results: &mut dyn FnMut(&[Value]),
) -> Result<ConvergenceOutcome, PlanFault> {
    let waves = ConvergenceWaves { branch, request };
    let mut progress = ConvergenceProgress::new(request.options);
    let mut outcome = waves.run(1, request.job.clone())?;
    loop {
        let results = outcome.value["results"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        take_results(results);
        let runs: Vec<NodeRun> = results.iter().filter_map(NodeRun::from_result).collect();
        let settled = summarize_runs(&runs);
        let nodes: BTreeSet<&str> = progress
            .nodes()
            .chain(runs.iter().map(|run| run.certname.as_str()))
            .collect();
        let nodes: Vec<String> = nodes.into_iter().map(str::to_owned).collect();
        let changed = waves.changed_imports(nodes)?;
        let Some(next) = progress.record_wave(runs, &changed) else {
            let outcome = progress.into_outcome();
            waves.tell(
                "convergence_ended",
                &format!("{settled}; {}", outcome.describe()),
            )?;
            return Ok(outcome);
        };
        waves.tell(
            "wave_ended",
            &format!("{settled}; {}", describe_next(&next)),
        )?;
        waves.pause(next.pause)?;
        let mut job = request.job.clone();
        job.scope = NodeScope::Nodes(parse_names(&next.nodes));
        job.nodes = None;
        outcome = waves.run(next.number, job)?;
    }
}

/// The steps of the waves.
struct ConvergenceWaves<'a> {
    branch: &'a PlanBranch<'a>,
    request: &'a ConvergenceRequest<'a>,
}

impl ConvergenceWaves<'_> {
    /// Runs Puppet, and waits for all nodes.
    fn run(&self, wave: u32, job: JobSpec) -> Result<StepOutcome, PlanFault> {
        let nodes = match &job.scope {
            NodeScope::Nodes(nodes) => json!(nodes),
            _ => Value::Null,
        };
        let arguments = json!({"wave": wave, "on": nodes});
        let outcome = self.step("puppet", arguments, StepWork::Run(Box::new(job)))?;
        if outcome.value["results"].is_array() {
            return Ok(outcome);
        }
        // The engine refused the job.
        Err(PlanFault::Failed((*outcome.value).clone()))
    }

    fn changed_imports(&self, nodes: Vec<String>) -> Result<BTreeSet<String>, PlanFault> {
        let arguments = json!({"of": nodes.len()});
        let imported_data = Arc::clone(self.request.imported_data);
        let work = StepWork::RunLocalEffect(Arc::new(ImportedDataQuery {
            imported_data,
            nodes,
        }));
        let outcome = self.step("imported_data", arguments, work)?;
        let changed = outcome.value["changed"].as_array().into_iter().flatten();
        let changed = changed.filter_map(|name| name.as_str().map(str::to_owned));
        if let Some(error) = outcome.value["error"].as_str() {
            self.tell("imported_data_unknown", error)?;
        }
        Ok(changed.collect())
    }

    fn pause(&self, pause: Duration) -> Result<(), PlanFault> {
        if pause.is_zero() {
            return Ok(());
        }
        let arguments = json!({"ms": pause.as_millis().to_string()});
        self.step("sleep", arguments, StepWork::Sleep(pause))
            .map(drop)
    }

    /// Adds a message to the events of the plan job.
    fn tell(&self, kind: &str, text: &str) -> Result<(), PlanFault> {
        let message = PlanEventMessage {
            kind: kind.to_owned(),
            details: Map::from_iter([("message".to_owned(), Value::from(text))]),
            message: text.to_owned(),
        };
        self.step("event", json!(text), StepWork::RecordEvent(message))
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
            site: self.request.site.to_owned(),
            arguments,
            work,
        })
    }
}

struct ImportedDataQuery {
    imported_data: Arc<dyn ImportedData>,
    nodes: Vec<String>,
}

#[async_trait]
impl LocalEffect for ImportedDataQuery {
    fn is_repeatable(&self) -> bool {
        true
    }

    /// An error does not end the waves: nodes that request another run are known all the same.
    async fn perform(&self) -> StepOutcome {
        StepOutcome::ok(match self.imported_data.changed(&self.nodes).await {
            Ok(changed) => json!({"changed": changed}),
            Err(error) => json!({
                "changed": [],
                "error": format!("it is not known whose imported data have changed: {error}"),
            }),
        })
    }
}

fn parse_names(nodes: &[String]) -> Vec<pcp::Certname> {
    // They are names of nodes that have run.
    nodes.iter().filter_map(|name| name.parse().ok()).collect()
}

fn summarize_runs(runs: &[NodeRun]) -> String {
    let count = |is: fn(&RunEnd) -> bool| runs.iter().filter(|run| is(&run.end)).count();
    let changed = count(|end| matches!(end, RunEnd::Succeeded { is_changed: true }));
    let unchanged = count(|end| matches!(end, RunEnd::Succeeded { is_changed: false }));
    let failed = count(|end| matches!(end, RunEnd::Failed { .. }));
    let not_run = count(|end| matches!(end, RunEnd::NotRun { .. } | RunEnd::Skipped { .. }));
    let parts = [
        (changed, "changed"),
        (unchanged, "unchanged"),
        (failed, "failed"),
        (not_run, "did not run"),
    ];
    join_counts(&parts)
}

fn describe_next(next: &NextWave) -> String {
    let RerunCounts {
        requested,
        imported_data,
        changed,
        skipped,
    } = next.counts;
    let reasons = join_counts(&[
        (requested, "requested it"),
        (imported_data, "with changed data of other nodes"),
        (changed, "with changes"),
        (skipped, "skipped before"),
    ]);
    let nodes = count_nodes(next.nodes.len());
    let when = match next.pause.as_secs_f64() {
        0.0 => String::new(),
        seconds => format!(" in {seconds} s"),
    };
    format!("wave {}{when}: {nodes} ({reasons})", next.number)
}

pub(crate) fn count_nodes(count: usize) -> String {
    match count {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    }
}

fn join_counts(parts: &[(usize, &str)]) -> String {
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    parts.join(", ")
}
