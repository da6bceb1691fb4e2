//! The steps in which a wave takes its reruns from the budget: [`RerunDraw`].
//!
//! Invariant: the answers of the budget are outcomes of steps, so a plan that is evaluated again after a restart goes on
//! with the same wait, and a wave whose reruns were taken starts with the same nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use plans::{LocalEffect, PlanFault, StepOutcome, StepWork};
use serde::Deserialize as _;
use serde_json::json;

use crate::defaults::SECOND_RERUN_WAIT;
use crate::descriptions::{describe_rerun_wait, name_left_out};
use crate::plan_steps::PuppetSteps;
use crate::rerun_budget::RerunCandidate;
use crate::rerun_limiter::{RerunLimiter, StoredRerunAnswer};

/// A wave that is about to start.
#[derive(Debug)]
pub(crate) struct RerunDraw<'a> {
    pub(crate) limiter: &'a Arc<RerunLimiter>,
    /// Number of the wave.
    pub(crate) wave: u32,
    pub(crate) candidates: Vec<RerunCandidate>,
    pub(crate) longest_wait: Duration,
}

// === impl RerunDraw ===

impl RerunDraw<'_> {
    /// Takes the tokens of the wave, and waits for them before. Returns the nodes without one, with the reason of each.
    pub(crate) fn run(
        self,
        steps: &PuppetSteps<'_>,
    ) -> Result<BTreeMap<String, String>, PlanFault> {
        let wave = ("wave", self.wave);
        let (mut left, mut least) = (self.longest_wait, Duration::ZERO);
        loop {
            match self.ask(steps, left)? {
                StoredRerunAnswer::Start { left_out } => {
                    if !left_out.is_empty() {
                        let nodes = self.candidates.len();
                        let text = name_left_out(self.wave, &left_out, nodes);
                        steps.tell(wave, "reruns_left_out", &text)?;
                    }
                    return Ok(left_out);
                }
                StoredRerunAnswer::Wait { ms, last } => {
                    let pause = Duration::from_millis(ms).max(least).min(left);
                    let text = describe_rerun_wait(self.wave, pause, last.as_deref());
                    steps.tell(wave, "reruns_delayed", &text)?;
                    steps.sleep(pause)?;
                    left = left.saturating_sub(pause);
                    least = (least * 2).max(SECOND_RERUN_WAIT);
                }
            }
        }
    }

    fn ask(
        &self,
        steps: &PuppetSteps<'_>,
        longest_wait: Duration,
    ) -> Result<StoredRerunAnswer, PlanFault> {
        let nodes = self.candidates.len();
        let left_ms = longest_wait.as_millis().to_string();
        let arguments = json!({"wave": self.wave, "of": nodes, "longest_wait_ms": left_ms});
        let work = StepWork::RunLocalEffect(Arc::new(RerunQuestion {
            limiter: Arc::clone(self.limiter),
            candidates: self.candidates.clone(),
            longest_wait,
        }));
        let outcome = steps.step("reruns", arguments, work)?;
        let answer = StoredRerunAnswer::deserialize(&*outcome.value);
        answer.map_err(|error| {
            let text = format!(
                "the stored answer to wave {} cannot be read: {error}",
                self.wave
            );
            PlanFault::new("tutti/plan-unreadable", &text)
        })
    }
}

#[derive(Debug)]
struct RerunQuestion {
    limiter: Arc<RerunLimiter>,
    candidates: Vec<RerunCandidate>,
    longest_wait: Duration,
}

#[async_trait]
impl LocalEffect for RerunQuestion {
    /// If the server ends before the answer is stored, the wave has not started, and the buckets are full again.
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn perform(&self) -> StepOutcome {
        let answer = self
            .limiter
            .draw(self.candidates.clone(), self.longest_wait);
        StepOutcome::ok(json!(answer))
    }
}
