//! A command between its two entries: [`Intent`].
//!
//! Invariant: every command gets a second entry, however it ends. A request that is aborted drops
//! its intent, which writes an entry that records the abort; only a server that is killed leaves
//! an intent without a result.

use std::time::Instant;

use crate::act::{Act, Outcome, Phase};
use crate::now_ms;
use crate::writer::Results;

/// A command that was announced and may now be executed.
#[derive(Debug)]
pub struct Intent {
    seq: i64,
    begun: Instant,
    /// `None` after the result was passed to the writer.
    act: Option<Box<Act>>,
    results: Results,
}

impl Intent {
    pub(crate) fn new(seq: i64, act: Act, results: Results) -> Self {
        Self {
            seq,
            begun: Instant::now(),
            act: Some(Box::new(act)),
            results,
        }
    }

    /// Number of the command's first entry.
    pub fn seq(&self) -> i64 {
        self.seq
    }

    /// Passes the result to the writer. It is durable some milliseconds later, without waiting
    /// here.
    pub async fn finish(mut self, outcome: Outcome) {
        if let Some(act) = self.act.take() {
            self.results.put(self.entry(&act, outcome)).await;
        }
    }

    fn entry(&self, act: &Act, mut outcome: Outcome) -> store::NewAudit {
        let took = self.begun.elapsed().as_millis();
        outcome.duration_ms = u64::try_from(took).ok();
        act.entry(Phase::Result { of: self.seq }, &outcome, now_ms())
    }
}

impl Drop for Intent {
    fn drop(&mut self) {
        if let Some(act) = self.act.take() {
            let outcome = Outcome {
                error: Some("the request broke off before it was answered".to_owned()),
                ..Outcome::default()
            };
            self.results.try_put(self.entry(&act, outcome));
        }
    }
}
