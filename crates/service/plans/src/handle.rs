//! The handle of the plan engine. Main type: [`Plans`].
//!
//! The engine and its threads run in the background. Invariant: an answer is returned after its
//! change is durable, and nothing runs any more after [`Plans::shutdown`].

use std::fmt;
use std::sync::Arc;

use pki::seal::SealKey;
use serde_json::{Value, json};
use store::{AwaitedAnswer, Clock, NewPlanEvent, PlanAnswer, PlanJobRow, PlanStepRow, Store};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::PlansConfig;
use crate::core::step_key;
use crate::defaults::{COMMANDS, JOURNAL_PAGE, REPORTS};
use crate::effects::PlanEffects;
use crate::engine::{PlanCounts, PlanEngine, PlanEngineCommand, PlanEngineDependencies};
use crate::error::{PlanError, PlansLost, StartPlansError};
use crate::forced_end::{ForcedPlanEnd, end_plan};
use crate::launch::{PlanLaunch, PlanProgramSource};
use crate::step::{StepId, StepOutcome};
use crate::worker::PlanWorker;

/// The plan engine. Cheap to clone.
#[derive(Clone)]
pub struct Plans {
    shared: Arc<PlansShared>,
}

struct PlansShared {
    config: PlansConfig,
    store: Store,
    effects: Arc<dyn PlanEffects>,
    seal: Arc<SealKey>,
    clock: Arc<dyn Clock>,
    commands: mpsc::Sender<PlanEngineCommand>,
    stopped: CancellationToken,
    lost: watch::Receiver<Option<PlansLost>>,
    over: watch::Receiver<u64>,
    tasks: TaskTracker,
}

/// The error kind of a plan that was stopped.
const STOPPED: &str = "tutti/plan-stopped";

// === impl Plans ===

impl Plans {
    /// Starts the engine and continues the plans that have not ended.
    pub async fn start(
        config: PlansConfig,
        store: Store,
        effects: Arc<dyn PlanEffects>,
        programs: Arc<dyn PlanProgramSource>,
        seal: Arc<SealKey>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StartPlansError> {
        let (commands, queue) = mpsc::channel(COMMANDS);
        let (reporter, reports) = mpsc::channel(REPORTS);
        let workers = (0..config.workers.max(1))
            .map(|index| PlanWorker::start(index, reporter.clone(), Arc::clone(&clock)))
            .collect::<Result<Vec<_>, _>>()?;
        let stopped = CancellationToken::new();
        let (over_sender, over) = watch::channel(0);
        let parts = PlanEngineDependencies {
            config: config.clone(),
            store: store.clone(),
            effects: Arc::clone(&effects),
            programs,
            seal: Arc::clone(&seal),
            clock: Arc::clone(&clock),
            stopped: stopped.clone(),
            over: over_sender,
        };
        let mut engine = PlanEngine::new(parts, workers, reports);
        engine.recover().await?;
        let tasks = TaskTracker::new();
        let (lost_sender, lost) = watch::channel(None);
        let ending = stopped.clone();
        let working = tasks.spawn(engine.run(queue));
        tasks.spawn(async move {
            let reason = match working.await {
                Ok(Some(error)) => Some(PlansLost::Store(error)),
                Ok(None) if ending.is_cancelled() => None,
                Ok(None) => Some(PlansLost::Broken),
                Err(error) if error.is_panic() => Some(PlansLost::Broken),
                // The runtime is shutting down.
                Err(_) => None,
            };
            if let Some(reason) = &reason {
                tracing::error!(%reason, "the plan engine has ended by itself");
            }
            ending.cancel();
            lost_sender.send_replace(reason);
        });
        tasks.close();
        Ok(Self {
            shared: Arc::new(PlansShared {
                config,
                store,
                effects,
                seal,
                clock,
                commands,
                stopped,
                lost,
                over,
                tasks,
            }),
        })
    }

    /// A counter that changes after each end of a plan is stored.
    pub fn watch_ended_plans(&self) -> watch::Receiver<u64> {
        self.shared.over.clone()
    }

    /// Starts a plan; returns the number of its plan job. An error of the plan itself becomes its
    /// result.
    pub async fn run(&self, launch: &PlanLaunch) -> Result<i64, PlanError> {
        let counts = self.counts().await?;
        let unfinished = counts.running + counts.queued + counts.asleep;
        if unfinished >= self.shared.config.unfinished_plans {
            return Err(PlanError::TooMany(unfinished));
        }
        let PlansShared { store, seal, .. } = &*self.shared;
        let row = launch.to_plan_job_row(self.shared.clock.now_ms());
        let timeout_ms = launch.timeout_ms();
        let number = store
            .insert_plan_run(&row, launch.seal(seal), timeout_ms, launch.slot)
            .await?;
        let steady_ms = self.shared.clock.steady_ms();
        let until_ms = timeout_ms.map(|ms| steady_ms.saturating_add(ms));
        // If the engine ends now, the next one finds the plan in the store.
        let _ = self.command(PlanEngineCommand::Run(number, until_ms)).await;
        Ok(number)
    }

    /// Ends a plan as failed; with `jobs`, its jobs are stopped too. A plan that has ended is not
    /// changed.
    pub async fn stop(&self, number: i64, login: &str, jobs: bool) -> Result<(), PlanError> {
        self.row(number).await?;
        let msg = match jobs {
            true => format!("{login} stopped the plan and its jobs"),
            false => format!("{login} stopped the plan; its jobs that ran were left to end"),
        };
        let ending = ForcedPlanEnd {
            kind: STOPPED,
            msg,
            details: json!({"stopped_by": login}),
            jobs,
        };
        let PlansShared { store, effects, .. } = &*self.shared;
        let now_ms = self.shared.clock.now_ms();
        // If the engine ends now, the next one does not load the plan, since its end is stored.
        let ended = end_plan(store, &**effects, number, ending, now_ms).await;
        if ended? {
            let _ = self.command(PlanEngineCommand::Stopped(number)).await;
        }
        Ok(())
    }

    /// Resumes a failed plan at a step: it and everything started after it begins again. Without a
    /// step, the last failed one is used. Earlier steps are kept. Returns the step; `None` if no
    /// step had failed.
    pub async fn resume(
        &self,
        number: i64,
        login: &str,
        from: Option<StepId>,
    ) -> Result<Option<StepId>, PlanError> {
        let row = self.row(number).await?;
        let not_failed = |state: String| PlanError::NotFailed { number, state };
        if row.state != "failure" {
            return Err(not_failed(row.state));
        }
        if self.is_preview(number).await? {
            return Err(PlanError::Preview(number));
        }
        let steps = self.journal(number).await?;
        let from = match from {
            Some(step) => {
                let wanted = step_key(&step);
                let taken = steps.iter().any(|row| row.step.key == wanted);
                if !taken {
                    let plan = number;
                    return Err(PlanError::UnknownStep { plan, step });
                }
                Some(wanted)
            }
            None => last_failed_step(&steps),
        };
        let step = from.as_ref().map(|from| match from.branch.as_str() {
            "" => from.step.to_string(),
            branch => format!("{branch}.{}", from.step),
        });
        let details = json!({"step": step, "resumed_by": login});
        let message = match &step {
            Some(step) => format!("{login} let the plan go on from its step {step}"),
            None => format!("{login} let the plan go on"),
        };
        let event = self.event("plan_resumed", &details, message);
        let store = &self.shared.store;
        if !store.reopen_plan(number, from.as_ref(), &event).await? {
            return Err(not_failed(self.row(number).await?.state));
        }
        let run = store.plan_run(number).await?;
        let steady_ms = self.shared.clock.steady_ms();
        let timeout_ms = run.and_then(|run| run.timeout_ms);
        let until_ms = timeout_ms.map(|ms| steady_ms.saturating_add(ms));
        // As in `run`: the next engine finds the plan.
        let _ = self.command(PlanEngineCommand::Run(number, until_ms)).await;
        Ok(step.and_then(|step| step.parse().ok()))
    }

    /// Answers a step that waits for a user. The answer is stored sealed if it is secret or if the
    /// step asks for a secret.
    pub async fn answer(
        &self,
        number: i64,
        step: StepId,
        login: &str,
        value: &Value,
        secret: bool,
    ) -> Result<(), PlanError> {
        let row = self.row(number).await?;
        if row.finished_ms.is_some() {
            let state = row.state;
            return Err(PlanError::Finished { number, state });
        }
        let not_asked = || PlanError::NotAsked {
            plan: number,
            step: step.clone(),
        };
        let asks = self.asks(number, &step).await?;
        let secret = match asks {
            AwaitedAnswer::NotAwaited => return Err(not_asked()),
            AwaitedAnswer::Plain => secret,
            AwaitedAnswer::Sealed => true,
        };
        let PlansShared { store, seal, .. } = &*self.shared;
        let text = value.to_string();
        let details = json!({"step": step.to_string(), "answered_by": login});
        let message = format!("{login} answered step {step}");
        let answer = PlanAnswer {
            key: step_key(&step),
            sealed: secret.then(|| seal.seal(text.as_bytes())),
            outcome: (!secret).then_some(text),
            event: self.event("answered", &details, message),
        };
        if !store.answer_plan_step(number, &answer).await? {
            return Err(not_asked());
        }
        // As in `run`: the next engine finds the answer.
        let outcome = StepOutcome::ok(value.clone());
        let _ = self
            .command(PlanEngineCommand::Answered(number, step, outcome))
            .await;
        Ok(())
    }

    /// Returns the steps of a plan, ordered by branch and number.
    pub async fn journal(&self, number: i64) -> Result<Vec<PlanStepRow>, PlanError> {
        let mut steps: Vec<PlanStepRow> = Vec::new();
        loop {
            let last = steps.last().map(|row| row.step.key.clone());
            let page = self
                .shared
                .store
                .plan_journal(number, last.as_ref(), JOURNAL_PAGE);
            let page = page.await?;
            let full = page.len() == JOURNAL_PAGE;
            steps.extend(page);
            if !full {
                return Ok(steps);
            }
        }
    }

    /// Returns the number of plans in each state.
    pub async fn counts(&self) -> Result<PlanCounts, PlanError> {
        let (reply, answer) = oneshot::channel();
        self.command(PlanEngineCommand::Count(reply)).await?;
        answer.await.map_err(|_| PlanError::ShuttingDown)
    }

    /// Returns the reason when the engine has ended without a shutdown. A new process continues the
    /// plans.
    pub async fn wait_until_lost(&self) -> PlansLost {
        let mut lost = self.shared.lost.clone();
        let reason = match lost.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone(),
            // The engine was shut down.
            Err(_) => None,
        };
        match reason {
            Some(reason) => reason,
            None => std::future::pending().await,
        }
    }

    /// Ends the engine and joins its threads. Plans continue at the next start.
    pub async fn shutdown(&self) {
        self.shared.stopped.cancel();
        self.shared.tasks.wait().await;
    }

    /// Returns whether this step waits for a user, and whether the answer is secret.
    async fn asks(&self, number: i64, step: &StepId) -> Result<AwaitedAnswer, PlanError> {
        let store = &self.shared.store;
        let row = store.plan_journal_step(number, &step_key(step)).await?;
        let open = row.filter(|row| row.step.state == "begun");
        Ok(open.map_or(AwaitedAnswer::NotAwaited, |row| row.step.asks))
    }

    /// Returns true if the plan is a preview; false also if its launch cannot be read any more.
    async fn is_preview(&self, number: i64) -> Result<bool, PlanError> {
        let PlansShared { store, seal, .. } = &*self.shared;
        let sealed = store.sealed_plan_request(number).await?;
        let launch = sealed.and_then(|sealed| PlanLaunch::unseal(&sealed, seal));
        Ok(launch.is_some_and(|launch| launch.preview.is_some()))
    }

    /// Returns the row of a plan job that this server runs or ran.
    async fn row(&self, number: i64) -> Result<PlanJobRow, PlanError> {
        let store = &self.shared.store;
        let unknown = || PlanError::Unknown(number);
        store
            .sealed_plan_request(number)
            .await?
            .ok_or_else(unknown)?;
        store.plan_job(number).await?.ok_or_else(unknown)
    }

    fn event(&self, kind: &str, details: &Value, message: String) -> NewPlanEvent {
        NewPlanEvent {
            kind: kind.to_owned(),
            at_ms: self.shared.clock.now_ms(),
            details: details.to_string(),
            message,
        }
    }

    async fn command(&self, command: PlanEngineCommand) -> Result<(), PlanError> {
        tokio::select! {
            sent = self.shared.commands.send(command) => sent.map_err(|_| PlanError::ShuttingDown),
            () = self.shared.stopped.cancelled() => Err(PlanError::ShuttingDown),
        }
    }
}

/// Returns the failed step whose outcome was delivered last.
fn last_failed_step(steps: &[PlanStepRow]) -> Option<store::PlanStepKey> {
    let failed = steps
        .iter()
        .filter(|row| row.step.state == "failed" && row.step.delivered.is_some());
    failed
        .max_by_key(|row| row.step.delivered)
        .map(|row| row.step.key.clone())
}

impl Drop for PlansShared {
    fn drop(&mut self) {
        // A handle dropped without shutdown: the tasks end soon after.
        self.stopped.cancel();
    }
}

impl fmt::Debug for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plans")
            .field("config", &self.shared.config)
            .finish_non_exhaustive()
    }
}
