//! Loading of a plan into memory: its launch, its program and its journal.
//!
//! Invariant: the journal is read completely, since nothing else writes to it meanwhile.

use std::sync::Arc;

use serde_json::Value;
use store::{PlanRunRow, PlanStepRow};

use super::plan_entry::{EnginePlan, EnginePlanState, PlanOperationError};
use super::{EngineTaskResult, PlanEngine, PlanEngineDependencies};
use crate::core::RecordedStep;
use crate::defaults::JOURNAL_PAGE;
use crate::effects::PlanActor;
use crate::launch::PlanLaunch;
use crate::program::{PlanFault, PlanProgram};
use crate::step::{StepId, StepOutcome};
use crate::worker::{PlanIncarnation, WorkerCommand};

/// A plan that is ready to run.
pub(crate) struct LoadedPlanProgram {
    program: Arc<dyn PlanProgram>,
    journal: Vec<RecordedStep>,
    actor: Arc<PlanActor>,
}

// === impl PlanEngine ===

impl PlanEngine {
    /// Continues the plans that have not ended. Must be called once, before [`PlanEngine::run`].
    pub(crate) async fn recover(&mut self) -> Result<(), store::StoreError> {
        let unfinished = self.parts.store.unfinished_plans().await?;
        let mut awaited = self.parts.store.awaited_plan_steps().await?;
        awaited.reverse();
        let plans = unfinished.len();
        for PlanRunRow {
            plan_job,
            asleep,
            until_ms,
            timeout_ms,
            ..
        } in unfinished
        {
            self.newest_before = self.newest_before.max(plan_job);
            let mut steps = Vec::new();
            while awaited.last().is_some_and(|row| row.plan_job == plan_job) {
                steps.extend(awaited.pop());
            }
            if asleep && !steps.is_empty() {
                self.restore_sleeping_plan(plan_job, steps);
            } else {
                self.enqueue(plan_job);
            }
            if let Some(entry) = self.plans.get_mut(&plan_job) {
                entry.until_ms = limit_until(until_ms, timeout_ms, &self.parts);
            }
        }
        if plans > 0 {
            tracing::info!(plans, "unfinished plans are taken up again");
        }
        Ok(())
    }

    /// Restores the waits of a plan that slept before the restart.
    fn restore_sleeping_plan(&mut self, plan: i64, steps: Vec<PlanStepRow>) {
        let life = self.new_incarnation(plan);
        self.plans
            .insert(plan, EnginePlan::new(life, EnginePlanState::Asleep));
        for row in steps {
            let recorded = to_recorded_step(&row, &self.parts);
            self.wait_again(life, &recorded);
        }
    }

    pub(super) fn load(&mut self, life: PlanIncarnation) {
        let parts = Arc::clone(&self.parts);
        let from_before = life.plan <= self.newest_before;
        self.tasks.spawn(async move {
            let loaded = load(&parts, life.plan, from_before).await;
            EngineTaskResult::Loaded(life, loaded.map(Box::new))
        });
    }

    pub(super) fn finish_load(
        &mut self,
        life: PlanIncarnation,
        loaded: Result<Box<LoadedPlanProgram>, PlanOperationError>,
    ) {
        let loaded = match loaded {
            Ok(loaded) => *loaded,
            Err(trouble) => return self.handle_operation_error(life, trouble),
        };
        let Some(entry) = self.current_plan(life) else {
            return;
        };
        entry.state = EnginePlanState::Running;
        entry.actor = Some(loaded.actor);
        self.send_to_worker(
            life,
            WorkerCommand::Begin(life, loaded.program, loaded.journal),
        );
    }
}

async fn load(
    parts: &Arc<PlanEngineDependencies>,
    plan: i64,
    from_before: bool,
) -> Result<LoadedPlanProgram, PlanOperationError> {
    // Clears the mark in the store that the plan is asleep.
    parts.store.plan_sleeps(plan, false).await?;
    let sealed = parts.store.sealed_plan_request(plan).await?;
    let sealed = sealed.ok_or(PlanOperationError::PlanEnded)?;
    let unreadable = || {
        let msg = "what was asked for cannot be unsealed: the server has another seal key now";
        PlanOperationError::Broken(PlanFault::new("tutti/plan-unreadable", msg))
    };
    let launch = PlanLaunch::unseal(&sealed, &parts.seal).ok_or_else(unreadable)?;
    let actor = PlanActor {
        plan_job: plan,
        plan: launch.plan.clone(),
        is_built_in: launch.built_in.is_some(),
        environment: launch.environment.clone(),
        code_id: launch.code_id.clone(),
        owner: launch.owner.clone(),
        owner_id: launch.owner_id.clone(),
        from_before,
    };
    let programs = Arc::clone(&parts.programs);
    // Reading code may block the thread.
    let program = tokio::task::spawn_blocking(move || programs.program(&launch));
    let program = match program.await {
        Ok(program) => program.map_err(PlanOperationError::Broken)?,
        Err(error) if error.is_panic() => {
            let msg = "the plan cannot be loaded (a bug of the server; please report it)";
            return Err(PlanOperationError::Broken(PlanFault::new(
                "tutti/plan-broken",
                msg,
            )));
        }
        // The runtime is shutting down.
        Err(error) => return Err(PlanOperationError::Unavailable(error.to_string())),
    };
    let mut journal: Vec<RecordedStep> = Vec::new();
    let mut last = None;
    loop {
        let page = parts.store.plan_journal(plan, last.as_ref(), JOURNAL_PAGE);
        let page = page.await?;
        let full = page.len() == JOURNAL_PAGE;
        last = page.last().map(|row| row.step.key.clone());
        journal.extend(page.iter().map(|row| to_recorded_step(row, parts)));
        if !full {
            break;
        }
    }
    Ok(LoadedPlanProgram {
        program,
        journal,
        actor: Arc::new(actor),
    })
}

/// Limits a stored deadline to the original duration from now, since the machine's clock may have
/// been set back.
fn limit_until(
    until_ms: Option<i64>,
    whole_ms: Option<i64>,
    parts: &PlanEngineDependencies,
) -> Option<i64> {
    let latest = parts.clock.steady_ms().saturating_add(whole_ms?);
    until_ms.map(|until_ms| until_ms.min(latest))
}

/// Converts a row of the journal.
pub(super) fn to_recorded_step(row: &PlanStepRow, parts: &PlanEngineDependencies) -> RecordedStep {
    let step = &row.step;
    let ok = step.state == "done";
    let value = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let open = match (&step.outcome, &row.sealed) {
        (Some(text), _) => Some(value(text)),
        (None, Some(sealed)) => {
            let plain = parts.seal.open(sealed).unwrap_or_default();
            Some(value(&String::from_utf8_lossy(&plain)))
        }
        (None, None) => None,
    };
    // A sleep has no stored outcome; a delivered one has ended.
    let slept = (step.until_ms.is_some() && step.delivered.is_some()).then_some(Value::Null);
    let outcome = open.or(slept).map(|value| StepOutcome {
        ok,
        value: Arc::new(value),
    });
    let whole_ms = step
        .until_ms
        .map(|until_ms| until_ms.saturating_sub(step.begun_ms));
    let until_ms = limit_until(step.until_ms, whole_ms, parts);
    RecordedStep {
        id: id(row),
        kind: step.kind.clone(),
        site: step.site.clone(),
        arguments: step.arguments.clone(),
        hash: step.hash.clone(),
        began: step.began,
        delivered: step.delivered,
        dropped: step.state == "dropped",
        job: row.job,
        until_ms: until_ms.or(step.until_ms),
        bytes: step.site.len()
            + step.arguments.len()
            + step.outcome.as_ref().map_or(0, String::len),
        outcome,
    }
}

/// Parses the key of a row, which this crate wrote.
fn id(row: &PlanStepRow) -> StepId {
    let key = &row.step.key;
    StepId {
        branch: key.branch.parse().unwrap_or_default(),
        number: u32::try_from(key.step).unwrap_or(0),
    }
}
