//! Jobs in batches: [`RolloutAct`] in a program, [`SimulatedRollout`] in the world.
//!
//! Batches, pauses and limits are decided by the job engine's [`Rollout`], which is lost in a crash
//! and recreated from the stored rows. Invariants: a run starts once, and only when every run of
//! earlier batches has ended and the pause is over; a crash makes no pause longer; and the final
//! states of the runs do not depend on the order of events.

use std::time::Duration;

use api_types::rollout::RolloutOptions;
use jobs::{JobSpec, Rollout, RolloutStep, RunState};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::program::simulated_job;
use crate::step::StepOutcome;

/// The name of the task that rollouts run.
const TASK: &str = "rollout";

/// The length of every pause, in seconds.
const PAUSE_SECONDS: u8 = 7;

/// A step of a program that is a rollout.
#[derive(Clone, Debug)]
pub(super) struct RolloutAct {
    /// For each node, true if it fails.
    pub(super) fails: Vec<bool>,
    pub(super) batch: Option<Vec<u8>>,
    pub(super) pauses: bool,
    pub(super) max_failures: Option<u8>,
}

/// A job of such a step.
pub(super) struct SimulatedRollout {
    options: RolloutOptions,
    fails: Vec<bool>,
    stored: StoredRollout,
    /// Recreated after a crash.
    rollout: Rollout,
    /// True once the rollout stopped at its limit; lost in a crash.
    halted: bool,
    /// The instant of simulated millisecond 0.
    epoch: Instant,
    /// The earliest start of the current batch after its pause.
    not_before_ms: i64,
}

/// The stored rows of the job.
struct StoredRollout {
    states: Vec<RunState>,
    batch_of: Vec<u32>,
    /// The newest batch that may start.
    batch: u32,
    next_batch_ms: Option<i64>,
}

/// An event that can happen to a job next.
enum RolloutEvent {
    /// The engine advances the rollout.
    Advance,
    /// All runs of the current batch start.
    Start,
    /// This run ends.
    End(usize),
    /// This run is skipped, since the rollout stopped at its limit.
    Skip(usize),
}

impl RolloutAct {
    pub(super) fn spec(&self) -> JobSpec {
        let mut options = json!({});
        if let Some(sizes) = &self.batch {
            options["batch"] = json!(sizes);
            if self.pauses {
                options["pause_between_batches"] = PAUSE_SECONDS.into();
            }
        }
        if let Some(limit) = self.max_failures {
            options["max_failures"] = limit.into();
        }
        let mut spec = simulated_job(TASK);
        spec.limits.rollout = serde_json::from_value(options).unwrap();
        let task = spec.work.task_mut().unwrap();
        task.params.insert("fails".to_owned(), json!(self.fails));
        spec
    }
}

impl SimulatedRollout {
    /// Creates the job of this request; `None` if it is not a rollout.
    pub(super) fn new(spec: &JobSpec) -> Option<Self> {
        let task = spec.work.task().filter(|task| task.name.as_str() == TASK)?;
        let fails: Vec<bool> = serde_json::from_value(task.params["fails"].clone()).unwrap();
        let rollout = Rollout::new(&spec.limits.rollout, fails.len());
        let stored = StoredRollout {
            states: vec![RunState::Ready; fails.len()],
            batch_of: rollout.batch_numbers().collect(),
            batch: 1,
            next_batch_ms: None,
        };
        Some(Self {
            options: spec.limits.rollout.clone(),
            fails,
            stored,
            rollout,
            halted: false,
            epoch: Instant::now(),
            not_before_ms: 0,
        })
    }

    /// Recreates the rollout from the stored rows.
    pub(super) fn crash(&mut self, now_ms: i64) {
        let stored = &self.stored;
        self.rollout = Rollout::new(&self.options, self.fails.len());
        for (state, batch) in stored.states.iter().zip(&stored.batch_of) {
            if state.is_terminal() {
                self.rollout.restore_run_ends(*batch, *state, 1);
            }
        }
        let left = stored
            .next_batch_ms
            .map(|until| milliseconds(until - now_ms));
        self.rollout
            .resume(stored.batch, left, self.instant(now_ms));
        self.halted = false;
    }

    /// Performs an event of the job, chosen by `chance`; it may take time.
    pub(super) fn step(&mut self, chance: usize, now_ms: &mut i64) {
        let mut possible = self.possible();
        let choice = chance % possible.len();
        match possible.swap_remove(choice) {
            RolloutEvent::Advance => self.advance(now_ms),
            RolloutEvent::Start => self.start(*now_ms),
            RolloutEvent::End(run) => {
                let state = if self.fails[run] {
                    RunState::Failed
                } else {
                    RunState::Finished
                };
                self.end(run, state);
            }
            RolloutEvent::Skip(run) => self.end(run, RunState::Skipped),
        }
    }

    /// Returns the outcome of the job; `None` before it has ended.
    pub(super) fn outcome(&self) -> Option<StepOutcome> {
        let states = &self.stored.states;
        if !states.iter().all(|state| state.is_terminal()) {
            return None;
        }
        assert_eq!(
            *states,
            self.expected_states(),
            "{:?} of {:?}",
            self.options,
            self.fails
        );
        Some(self.expected())
    }

    /// Returns the final outcome, computed by a model without time.
    pub(super) fn expected(&self) -> StepOutcome {
        let states = self.expected_states();
        let names: Vec<_> = states.iter().map(|state| state.as_str()).collect();
        let value: Value = json!({ "states": names });
        if names.iter().all(|name| *name == "finished") {
            StepOutcome::ok(value)
        } else {
            StepOutcome::failed(value)
        }
    }

    fn expected_states(&self) -> Vec<RunState> {
        let nodes = self.fails.len();
        let sizes = self.options.batch.as_ref();
        let sizes = sizes.map_or_else(|| vec![nodes], |sizes| sizes.of(nodes));
        let (mut states, mut failures, mut halted) = (Vec::new(), 0, false);
        for size in sizes {
            let of_batch = &self.fails[states.len()..][..size];
            if halted {
                states.extend(of_batch.iter().map(|_| RunState::Skipped));
                continue;
            }
            let failed = of_batch.iter().filter(|fails| **fails).count();
            failures += failed;
            states.extend(of_batch.iter().map(|fails| {
                if *fails {
                    RunState::Failed
                } else {
                    RunState::Finished
                }
            }));
            halted = match self.options.max_failures {
                Some(limit) => failures > limit.of(nodes),
                None => failed == size,
            };
        }
        states
    }

    fn possible(&self) -> Vec<RolloutEvent> {
        let mut possible = vec![RolloutEvent::Advance];
        let mut starts = false;
        for (run, state) in self.stored.states.iter().enumerate() {
            match state {
                RunState::Running => possible.push(RolloutEvent::End(run)),
                RunState::Ready if self.halted => possible.push(RolloutEvent::Skip(run)),
                RunState::Ready => starts |= self.stored.batch_of[run] == self.stored.batch,
                _ => {}
            }
        }
        // During the pause between two batches no run of the next one may start.
        if starts && self.stored.next_batch_ms.is_none() {
            possible.push(RolloutEvent::Start);
        }
        possible
    }

    fn advance(&mut self, now_ms: &mut i64) {
        if let Some(until_ms) = self.stored.next_batch_ms {
            *now_ms = until_ms.max(*now_ms);
        }
        let now = self.instant(*now_ms);
        let step = self.rollout.next_step(now);
        match step {
            Some(RolloutStep::Pause { until }) => {
                let pause_ms = i64::try_from(until.duration_since(now).as_millis()).unwrap();
                assert_eq!(pause_ms, i64::from(PAUSE_SECONDS) * 1_000);
                self.not_before_ms = *now_ms + pause_ms;
                self.stored.next_batch_ms = Some(self.not_before_ms);
            }
            Some(RolloutStep::Begin { batch, .. }) => {
                assert_eq!(batch, self.stored.batch + 1);
                self.stored.batch = batch;
                self.stored.next_batch_ms = None;
            }
            Some(RolloutStep::Halt(_)) => self.halted = true,
            Some(RolloutStep::Finish) => {}
            None => {
                let paused = self.stored.next_batch_ms.is_some();
                assert!(!paused, "a crash made the pause longer");
            }
        }
    }

    fn start(&mut self, now_ms: i64) {
        assert!(now_ms >= self.not_before_ms, "the pause is not over");
        let current = self.stored.batch;
        let mut runs = self.stored.states.iter_mut().zip(&self.stored.batch_of);
        for (state, batch) in &mut runs {
            if *batch < current {
                assert!(state.is_terminal(), "the batch before has not ended");
            } else if *batch == current {
                assert_eq!(*state, RunState::Ready, "a run starts twice");
                *state = RunState::Running;
            }
        }
    }

    fn end(&mut self, run: usize, state: RunState) {
        self.stored.states[run] = state;
        self.rollout
            .record_run_end(self.stored.batch_of[run], state);
    }

    fn instant(&self, now_ms: i64) -> Instant {
        self.epoch + milliseconds(now_ms)
    }
}

fn milliseconds(count: i64) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(0))
}
