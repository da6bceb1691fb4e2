//! Jobs of Puppet runs as steps of a plan: [`PuppetSteps`].
//!
//! Invariant: what is told to users distinguishes no steps, so that another version of the server may have other words.

use std::time::Duration;

use jobs::{JobSpec, KIND_MAX_FAILURES, KIND_STOPPED, NodeScope};
use plans::{PlanBranch, PlanEventMessage, PlanFault, StepOutcome, StepRequest, StepWork};
use serde_json::{Map, Value, json};

use crate::node_run::NodeRun;

/// The steps of a plan, or of a call in its code.
pub(crate) struct PuppetSteps<'a> {
    pub(crate) branch: &'a PlanBranch<'a>,
    /// Position in the plan's code, for users.
    pub(crate) site: &'a str,
}

/// A job that has ended, in the form of its outcome.
pub(crate) struct EndedJob(StepOutcome);

// === impl PuppetSteps ===

impl PuppetSteps<'_> {
    /// Runs a job and waits for all of its nodes.
    ///
    /// # Errors
    /// The engine refused the job, or the plan has to end.
    pub(crate) fn run_job(&self, arguments: Value, job: JobSpec) -> Result<EndedJob, PlanFault> {
        let outcome = self.step("puppet", arguments, StepWork::Run(Box::new(job)))?;
        match outcome.value["results"].is_array() {
            true => Ok(EndedJob(outcome)),
            false => Err(PlanFault::Failed((*outcome.value).clone())),
        }
    }

    /// Adds a message to the events of the plan job, about the wave or the pass with this number.
    pub(crate) fn tell(
        &self,
        (unit, number): (&str, u32),
        kind: &str,
        text: &str,
    ) -> Result<(), PlanFault> {
        let message = PlanEventMessage {
            kind: kind.to_owned(),
            details: Map::from_iter([("message".to_owned(), Value::from(text))]),
            message: text.to_owned(),
        };
        let arguments = json!({unit: number, "kind": kind});
        let work = StepWork::RecordEvent(message);
        self.step("event", arguments, work).map(drop)
    }

    /// Waits for a time, also over a restart of the server.
    pub(crate) fn sleep(&self, pause: Duration) -> Result<(), PlanFault> {
        if pause.is_zero() {
            return Ok(());
        }
        let arguments = json!({"ms": pause.as_millis().to_string()});
        self.step("sleep", arguments, StepWork::Sleep(pause))
            .map(drop)
    }

    pub(crate) fn step(
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

// === impl EndedJob ===

impl EndedJob {
    /// The results of the nodes.
    pub(crate) fn results(&self) -> &[Value] {
        let results = self.0.value["results"].as_array();
        results.map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn runs(&self) -> Vec<NodeRun> {
        let runs = self.results().iter().filter_map(NodeRun::from_result);
        runs.collect()
    }

    /// True if the job was stopped or had too many failures, so no other may follow.
    pub(crate) fn is_halted(&self) -> bool {
        self.0.value["state"] == "stopped" || self.results().iter().any(is_halt)
    }
}

/// The nodes of a job as an argument that distinguishes its step; null if they are not named.
pub(crate) fn named_nodes(job: &JobSpec) -> Value {
    match &job.scope {
        NodeScope::Nodes(nodes) => json!(nodes),
        _ => Value::Null,
    }
}

/// True for the result of a node that was not started because its job was stopped or has too many failures.
fn is_halt(result: &Value) -> bool {
    let kind = result["value"]["_error"]["kind"].as_str();
    kind.is_some_and(|kind| [KIND_STOPPED, KIND_MAX_FAILURES].contains(&kind))
}
