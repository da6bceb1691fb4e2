//! Commits of the plans' batches, and the start of the effects in them.
//!
//! Invariant: a job is created in the transaction of its step. If a batch starts exactly one job,
//! the rest of the batch is written in the same transaction, so that such a step costs one commit.

use std::sync::Arc;

use jobs::JobSpec;
use serde_json::{Value, json};
use store::{NewPlanEvent, NewPlanStep, PlanChange, PlanJournalWrite, PlanOutcome};

use super::plan_entry::{EnginePlanState, PlanOperationError};
use super::{EngineTaskResult, PlanEngine, PlanEngineDependencies};
use crate::core::{EffectStart, JournalBatch};
use crate::effects::{JobStartError, PlanActor};
use crate::program::{BranchResult, PlanFault};
use crate::step::{StepId, StepOutcome};
use crate::worker::{self, PlanIncarnation};

/// A batch that has been committed.
pub(crate) struct CommittedBatch {
    /// True if the plan waits for this commit; false for a single job that was created after it.
    batch: bool,
    /// The effects that start now.
    starts: Vec<(StepId, EffectStart)>,
    /// Steps whose job was refused, with their outcome.
    refused: Vec<(StepId, StepOutcome)>,
    /// True if the plan has ended.
    over: bool,
}

// === impl PlanEngine ===

impl PlanEngine {
    /// Commits a batch of a plan.
    pub(super) fn write(&mut self, life: PlanIncarnation, batch: JournalBatch) {
        let parts = Arc::clone(&self.parts);
        let Some(entry) = self.current_plan(life) else {
            return;
        };
        entry.rest = None;
        for step in &batch.drops {
            entry.drop_wait(step);
        }
        let Some(actor) = entry.actor.clone() else {
            return;
        };
        if batch.end.is_some() {
            entry.state = EnginePlanState::Ending;
            entry.stop_waiting();
        }
        if batch.changes.is_empty() && batch.end.is_none() && !batch.has_effect_starts() {
            return self.start(life, batch.starts);
        }
        self.tasks.spawn(async move {
            let committed = Box::pin(commit(&parts, &actor, batch)).await;
            EngineTaskResult::Committed(life, committed.map(Box::new))
        });
    }

    pub(super) fn finish_commit(
        &mut self,
        life: PlanIncarnation,
        committed: Result<Box<CommittedBatch>, PlanOperationError>,
    ) {
        let committed = match committed {
            Ok(committed) => *committed,
            Err(trouble) => return self.handle_operation_error(life, trouble),
        };
        let Some(entry) = self.current_plan(life) else {
            return;
        };
        if !committed.batch {
            entry.starting -= 1;
        }
        if committed.over {
            return self.forget(life.plan);
        }
        if committed.batch {
            self.send_to_worker(life, worker::WorkerCommand::Committed(life));
        }
        self.start(life, committed.starts);
        for (step, outcome) in committed.refused {
            self.accept_outcome(life, step, outcome);
        }
    }

    /// Starts effects whose steps are in the journal.
    fn start(&mut self, life: PlanIncarnation, starts: Vec<(StepId, EffectStart)>) {
        let parts = Arc::clone(&self.parts);
        for (step, start) in starts {
            match start {
                EffectStart::Job(row, order) => {
                    let Some(entry) = self.current_plan(life) else {
                        return;
                    };
                    let Some(actor) = entry.actor.clone() else {
                        return;
                    };
                    entry.starting += 1;
                    let parts = Arc::clone(&parts);
                    self.tasks.spawn(async move {
                        let begun = begin(&parts, &actor, Vec::new(), (step, *row, *order)).await;
                        let committed = begun.map(|begun| CommittedBatch {
                            batch: false,
                            ..begun
                        });
                        EngineTaskResult::Committed(life, committed.map(Box::new))
                    });
                }
                start => self.wait(life, step, start),
            }
        }
    }

    /// Ends a plan that could not be loaded.
    pub(super) fn end_broken(&mut self, life: PlanIncarnation, fault: PlanFault) {
        let parts = Arc::clone(&self.parts);
        if let Some(entry) = self.current_plan(life) {
            entry.state = EnginePlanState::Ending;
        }
        self.tasks.spawn(async move {
            let outcome = outcome(&parts, life.plan, Err(fault));
            let ended = parts.store.end_plan_run(life.plan, &[], &outcome).await;
            EngineTaskResult::Ended(life, ended.map(drop).map_err(PlanOperationError::from))
        });
    }

    pub(super) fn finish_ending(
        &mut self,
        life: PlanIncarnation,
        ended: Result<(), PlanOperationError>,
    ) {
        match ended {
            Ok(()) if self.current_plan(life).is_some() => self.forget(life.plan),
            Ok(()) => {}
            Err(trouble) => self.handle_operation_error(life, trouble),
        }
    }
}

async fn commit(
    parts: &PlanEngineDependencies,
    actor: &PlanActor,
    mut batch: JournalBatch,
) -> Result<CommittedBatch, PlanOperationError> {
    let plan = actor.plan_job;
    if let Some(end) = batch.end {
        let outcome = outcome(parts, plan, end);
        let ended = parts.store.end_plan_run(plan, &batch.changes, &outcome);
        ended.await?;
        return Ok(CommittedBatch {
            batch: true,
            starts: Vec::new(),
            refused: Vec::new(),
            over: true,
        });
    }
    let jobs = |(_, start): &(StepId, EffectStart)| matches!(start, EffectStart::Job(..));
    if batch.starts.iter().filter(|start| jobs(start)).count() == 1 {
        let index = batch.starts.iter().position(jobs).unwrap_or(0);
        if let (step, EffectStart::Job(row, order)) = batch.starts.swap_remove(index) {
            let mut begun = begin(parts, actor, batch.changes, (step, *row, *order)).await?;
            begun.starts.extend(batch.starts);
            return Ok(begun);
        }
    }
    if !batch.changes.is_empty() && !parts.store.change_plan(plan, &batch.changes).await? {
        check(parts, plan).await?;
    }
    Ok(CommittedBatch {
        batch: true,
        starts: batch.starts,
        refused: Vec::new(),
        over: false,
    })
}

/// Creates a job, and writes the preceding journal changes in the same transaction.
async fn begin(
    parts: &PlanEngineDependencies,
    actor: &PlanActor,
    before: Vec<PlanChange>,
    (id, step, spec): (StepId, NewPlanStep, JobSpec),
) -> Result<CommittedBatch, PlanOperationError> {
    let mark = PlanJournalWrite {
        earlier_changes: before.clone(),
        step: step.clone(),
    };
    let mut committed = CommittedBatch {
        batch: true,
        starts: Vec::new(),
        refused: Vec::new(),
        over: false,
    };
    let refused = match parts.effects.start(actor, spec, mark).await {
        Ok(job) => {
            committed.starts.push((id, EffectStart::Await(job)));
            return Ok(committed);
        }
        Err(JobStartError::Refused(error)) => StepOutcome::failed(error),
        Err(error) => return Err(PlanOperationError::Unavailable(error.to_string())),
    };
    check(parts, actor.plan_job).await?;
    let mut changes = before;
    changes.push(PlanChange::Begin(NewPlanStep {
        state: "failed".to_owned(),
        outcome: Some(refused.value.to_string()),
        ..step
    }));
    if !parts.store.change_plan(actor.plan_job, &changes).await? {
        check(parts, actor.plan_job).await?;
    }
    committed.refused.push((id, refused));
    Ok(committed)
}

/// Fails if the plan has ended in the store.
async fn check(parts: &PlanEngineDependencies, plan: i64) -> Result<(), PlanOperationError> {
    let row = parts.store.plan_job(plan).await?;
    match row {
        Some(row) if row.finished_ms.is_none() => Ok(()),
        _ => Err(PlanOperationError::PlanEnded),
    }
}

/// Returns the final state of a plan job.
fn outcome(parts: &PlanEngineDependencies, plan: i64, end: BranchResult) -> PlanOutcome {
    let (state, kind, result) = match end {
        Ok(value) => ("success", "plan_finished", value),
        Err(PlanFault::Failed(error)) => ("failure", "plan_failed", error),
        Err(PlanFault::Stop(stop)) => (
            "failure",
            "plan_failed",
            json!({"kind": "tutti/plan-stopped", "msg": stop.to_string(), "details": {}}),
        ),
    };
    // The event does not repeat the result, which is stored with the plan job.
    let details: Value = json!({"plan-id": plan.to_string()});
    PlanOutcome {
        state: state.to_owned(),
        result: result.to_string(),
        event: NewPlanEvent {
            kind: kind.to_owned(),
            at_ms: parts.clock.now_ms(),
            details: details.to_string(),
            message: format!("The plan ended: {state}"),
        },
    }
}
