//! Commits of the batches that plans hand out, and the start of the effects in them.
//!
//! Invariant: a job is created in the transaction of its step. Where a batch has one job and nothing else
//! that begins, the rest of the batch goes with it, so that a step costs one commit.

use std::sync::Arc;

use serde_json::{Value, json};
use store::{NewPlanEvent, NewPlanStep, PlanChange, PlanMark, PlanOutcome};

use super::book::{Trouble, Where};
use super::{Done, Engine, Parts};
use crate::core::{Batch, Start};
use crate::effects::{Actor, NotStarted, Order};
use crate::program::{Ended, Fault};
use crate::step::{Outcome, StepId};
use crate::worker::{self, Life};

/// A batch that has been written.
pub(crate) struct Committed {
    /// True for a whole batch, which its plan waits for.
    batch: bool,
    /// The effects that begin now.
    starts: Vec<(StepId, Start)>,
    /// Steps that could not begin.
    refused: Vec<(StepId, Outcome)>,
    /// The plan is over.
    over: bool,
}

// === impl Engine ===

impl Engine {
    /// Handles a batch that a plan hands out.
    pub(super) fn write(&mut self, life: Life, batch: Batch) {
        let parts = Arc::clone(&self.parts);
        let Some(entry) = self.alive(life) else {
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
            entry.at = Where::Ending;
            entry.stop_waiting();
        }
        if batch.changes.is_empty() && batch.end.is_none() && !batch.begins() {
            return self.start(life, batch.starts);
        }
        self.tasks.spawn(async move {
            let committed = Box::pin(commit(&parts, &actor, batch)).await;
            Done::Committed(life, committed.map(Box::new))
        });
    }

    pub(super) fn committed(&mut self, life: Life, committed: Result<Box<Committed>, Trouble>) {
        let committed = match committed {
            Ok(committed) => *committed,
            Err(trouble) => return self.trouble(life, trouble),
        };
        let Some(entry) = self.alive(life) else {
            return;
        };
        if !committed.batch {
            entry.starting -= 1;
        }
        if committed.over {
            return self.forget(life.plan);
        }
        if committed.batch {
            self.order(life, worker::Order::Committed(life));
        }
        self.start(life, committed.starts);
        for (step, outcome) in committed.refused {
            self.arrived(life, step, outcome);
        }
    }

    /// Begins the effects that are written to the journal.
    fn start(&mut self, life: Life, starts: Vec<(StepId, Start)>) {
        let parts = Arc::clone(&self.parts);
        for (step, start) in starts {
            match start {
                Start::Job(row, order) => {
                    let Some(entry) = self.alive(life) else {
                        return;
                    };
                    let Some(actor) = entry.actor.clone() else {
                        return;
                    };
                    entry.starting += 1;
                    let parts = Arc::clone(&parts);
                    self.tasks.spawn(async move {
                        let begun = begin(&parts, &actor, Vec::new(), (step, *row, *order)).await;
                        let committed = begun.map(|begun| Committed {
                            batch: false,
                            ..begun
                        });
                        Done::Committed(life, committed.map(Box::new))
                    });
                }
                start => self.wait(life, step, start),
            }
        }
    }

    /// Ends a plan that could not even be loaded.
    pub(super) fn end_broken(&mut self, life: Life, fault: Fault) {
        let parts = Arc::clone(&self.parts);
        if let Some(entry) = self.alive(life) {
            entry.at = Where::Ending;
        }
        self.tasks.spawn(async move {
            let outcome = outcome(&parts, life.plan, Err(fault));
            let ended = parts.store.end_plan_run(life.plan, &[], &outcome).await;
            Done::Ended(life, ended.map(drop).map_err(Trouble::from))
        });
    }

    pub(super) fn over(&mut self, life: Life, ended: Result<(), Trouble>) {
        match ended {
            Ok(()) if self.alive(life).is_some() => self.forget(life.plan),
            Ok(()) => {}
            Err(trouble) => self.trouble(life, trouble),
        }
    }
}

async fn commit(parts: &Parts, actor: &Actor, mut batch: Batch) -> Result<Committed, Trouble> {
    let plan = actor.plan_job;
    if let Some(end) = batch.end {
        let outcome = outcome(parts, plan, end);
        let ended = parts.store.end_plan_run(plan, &batch.changes, &outcome);
        ended.await?;
        return Ok(Committed {
            batch: true,
            starts: Vec::new(),
            refused: Vec::new(),
            over: true,
        });
    }
    let jobs = |(_, start): &(StepId, Start)| matches!(start, Start::Job(..));
    if batch.starts.iter().filter(|start| jobs(start)).count() == 1 {
        let index = batch.starts.iter().position(jobs).unwrap_or(0);
        if let (step, Start::Job(row, order)) = batch.starts.swap_remove(index) {
            let mut begun = begin(parts, actor, batch.changes, (step, *row, *order)).await?;
            begun.starts.extend(batch.starts);
            return Ok(begun);
        }
    }
    if !batch.changes.is_empty() && !parts.store.change_plan(plan, &batch.changes).await? {
        check(parts, plan).await?;
    }
    Ok(Committed {
        batch: true,
        starts: batch.starts,
        refused: Vec::new(),
        over: false,
    })
}

/// Creates a job, and writes the preceding journal changes in the same transaction.
async fn begin(
    parts: &Parts,
    actor: &Actor,
    before: Vec<PlanChange>,
    (id, step, order): (StepId, NewPlanStep, Order),
) -> Result<Committed, Trouble> {
    let mark = PlanMark {
        before: before.clone(),
        step: step.clone(),
    };
    let mut committed = Committed {
        batch: true,
        starts: Vec::new(),
        refused: Vec::new(),
        over: false,
    };
    let refused = match parts.effects.start(actor, order, mark).await {
        Ok(job) => {
            committed.starts.push((id, Start::Await(job)));
            return Ok(committed);
        }
        Err(NotStarted::Refused(error)) => Outcome::failed(error),
        Err(error) => return Err(Trouble::Unavailable(error.to_string())),
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

/// Returns true if the plan still runs, according to the store.
async fn check(parts: &Parts, plan: i64) -> Result<(), Trouble> {
    let row = parts.store.plan_job(plan).await?;
    match row {
        Some(row) if row.finished_ms.is_none() => Ok(()),
        _ => Err(Trouble::Over),
    }
}

/// The final state of a plan job.
fn outcome(parts: &Parts, plan: i64, end: Ended) -> PlanOutcome {
    let (state, kind, result) = match end {
        Ok(value) => ("success", "plan_finished", value),
        Err(Fault::Failed(error)) => ("failure", "plan_failed", error),
        Err(Fault::Stop(stop)) => (
            "failure",
            "plan_failed",
            json!({"kind": "tutti/plan-stopped", "msg": stop.to_string(), "details": {}}),
        ),
    };
    // The result is kept once, with the plan job.
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
