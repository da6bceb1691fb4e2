//! A command between its two entries: [`AuditIntent`].
//!
//! Invariant: every command gets a second entry, however it ends. A request that is aborted drops
//! its intent, which writes an entry that records the abort; only a server that is killed leaves
//! an intent without a result.

use std::time::Instant;
use store::now_ms;

use crate::action::{AuditOutcome, AuditPhase, AuditedAction};
use crate::writer::ResultQueue;

/// A command that was announced and may now be executed.
#[derive(Debug)]
pub struct AuditIntent {
    seq: i64,
    begun: Instant,
    /// `None` after the result was passed to the writer.
    act: Option<Box<AuditedAction>>,
    results: ResultQueue,
}

impl AuditIntent {
    pub(crate) fn new(seq: i64, act: AuditedAction, results: ResultQueue) -> Self {
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
    pub async fn finish(mut self, outcome: AuditOutcome) {
        if let Some(act) = self.act.take() {
            self.results.send(self.result_entry(&act, outcome)).await;
        }
    }

    fn result_entry(&self, act: &AuditedAction, mut outcome: AuditOutcome) -> store::NewAudit {
        let took = self.begun.elapsed().as_millis();
        outcome.duration_ms = u64::try_from(took).ok();
        act.to_entry(AuditPhase::Result { of: self.seq }, &outcome, now_ms())
    }
}

impl Drop for AuditIntent {
    fn drop(&mut self) {
        if let Some(act) = self.act.take() {
            let outcome = AuditOutcome {
                error: Some("the request broke off before it was answered".to_owned()),
                ..AuditOutcome::default()
            };
            self.results.try_send(self.result_entry(&act, outcome));
        }
    }
}
