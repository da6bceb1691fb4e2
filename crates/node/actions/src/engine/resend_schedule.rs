//! Schedule of repeated sends of outcomes: [`ResendSchedule`], a state machine without its own
//! clock or connection.
//!
//! Invariants: a requester that has ever acknowledged an outcome gets each outcome until it
//! acknowledges it, on every new connection and, with growing gaps, on one that stays up; a stock
//! orchestrator, which never acknowledges, gets it a few times, each on a new connection.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use pcp::PcpUri;
use pxp::TransactionId;

use crate::defaults::{MAX_SENDS_UNACKNOWLEDGED, RESEND_CEILING, RESEND_FLOOR};

#[derive(Debug, Default)]
pub(super) struct ResendSchedule {
    waiting: HashMap<TransactionId, PendingOutcome>,
    /// Requesters that have acknowledged an outcome.
    acknowledging: HashSet<PcpUri>,
}

#[derive(Debug)]
struct PendingOutcome {
    requester: PcpUri,
    /// Number of sends over the whole life of the outcome.
    sends: u32,
    /// Wait after the next send; reset on each connection.
    gap: Duration,
    /// Time of the next send; `None`: on the next connection.
    due: Option<Instant>,
}

impl ResendSchedule {
    /// Adds an outcome that was handed to a connection `sends` times so far and is not
    /// acknowledged. Returns false if it needs no further sends.
    pub(super) fn add(
        &mut self,
        id: TransactionId,
        requester: PcpUri,
        sends: u32,
        now: Instant,
    ) -> bool {
        let acknowledges = self.acknowledging.contains(&requester);
        if !acknowledges && sends >= MAX_SENDS_UNACKNOWLEDGED {
            return false;
        }
        let due = match (sends, acknowledges) {
            (0, _) => Some(now),
            (_, true) => Some(now + RESEND_FLOOR),
            (_, false) => None,
        };
        self.waiting.insert(
            id,
            PendingOutcome {
                requester,
                sends,
                gap: RESEND_FLOOR,
                due,
            },
        );
        true
    }

    /// Makes every outcome due, because a new connection was established.
    pub(super) fn record_connected(&mut self, now: Instant) {
        for waiting in self.waiting.values_mut() {
            waiting.due = Some(now);
            waiting.gap = RESEND_FLOOR;
        }
    }

    /// The outcome that is due first, and its time.
    pub(super) fn next_due(&self) -> Option<(TransactionId, Instant)> {
        self.waiting
            .iter()
            .filter_map(|(id, waiting)| Some((waiting.due?, id)))
            .min()
            .map(|(due, id)| (id.clone(), due))
    }

    /// Records that the outcome was handed to the connection once more.
    pub(super) fn record_sent(&mut self, id: &TransactionId, now: Instant) {
        let Some(waiting) = self.waiting.get_mut(id) else {
            return;
        };
        waiting.sends += 1;
        if self.acknowledging.contains(&waiting.requester) {
            waiting.due = Some(now + waiting.gap);
            waiting.gap = (waiting.gap * 2).min(RESEND_CEILING);
        } else if waiting.sends >= MAX_SENDS_UNACKNOWLEDGED {
            self.waiting.remove(id);
        } else {
            waiting.due = None;
        }
    }

    /// Records that the connection did not accept the outcome: it is sent on the next one.
    pub(super) fn record_not_sent(&mut self, id: &TransactionId) {
        if let Some(waiting) = self.waiting.get_mut(id) {
            waiting.due = None;
        }
    }

    /// Removes an outcome that the requester has, or that can no longer be delivered.
    pub(super) fn remove(&mut self, id: &TransactionId) {
        self.waiting.remove(id);
    }

    /// Records that this requester acknowledges: from now on its outcomes are kept until
    /// acknowledged.
    pub(super) fn record_acknowledgement(&mut self, requester: &PcpUri, now: Instant) {
        if self.acknowledging.insert(requester.clone()) {
            let theirs = self
                .waiting
                .values_mut()
                .filter(|w| w.requester == *requester);
            for waiting in theirs.filter(|w| w.due.is_none()) {
                waiting.due = Some(now + RESEND_FLOOR);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TransactionId {
        text.parse().unwrap()
    }

    fn orch() -> PcpUri {
        "pcp://orch/server".parse().unwrap()
    }

    #[test]
    fn a_stock_orchestrator_gets_it_a_few_times_on_new_connections_only() {
        let now = Instant::now();
        let mut schedule = ResendSchedule::default();
        assert!(schedule.add(id("t"), orch(), 1, now));
        assert_eq!(
            schedule.next_due(),
            None,
            "not again on the same connection"
        );
        for _ in 1..MAX_SENDS_UNACKNOWLEDGED {
            schedule.record_connected(now);
            assert_eq!(schedule.next_due(), Some((id("t"), now)));
            schedule.record_sent(&id("t"), now);
            assert_eq!(schedule.next_due(), None);
        }
        schedule.record_connected(now);
        assert_eq!(schedule.next_due(), None);
        assert!(!schedule.add(id("t"), orch(), MAX_SENDS_UNACKNOWLEDGED, now));
    }

    #[test]
    fn one_that_acknowledges_gets_it_until_it_does() {
        let now = Instant::now();
        let mut schedule = ResendSchedule::default();
        schedule.record_acknowledgement(&orch(), now);
        assert!(schedule.add(id("t"), orch(), 99, now));
        let mut due = now + RESEND_FLOOR;
        let mut gaps = Vec::new();
        for _ in 0..8 {
            assert_eq!(schedule.next_due(), Some((id("t"), due)));
            schedule.record_sent(&id("t"), due);
            let next = schedule.next_due().unwrap().1;
            gaps.push((next - due).as_secs());
            due = next;
        }
        assert_eq!(gaps, [30, 60, 120, 240, 480, 600, 600, 600]);
        schedule.remove(&id("t"));
        assert_eq!(schedule.next_due(), None);
    }

    #[test]
    fn one_that_was_never_sent_is_due_at_once_and_after_a_failure_on_the_next_connection() {
        let now = Instant::now();
        let mut schedule = ResendSchedule::default();
        schedule.add(id("t"), orch(), 0, now);
        assert_eq!(schedule.next_due(), Some((id("t"), now)));
        schedule.record_not_sent(&id("t"));
        assert_eq!(schedule.next_due(), None);
        schedule.record_connected(now);
        assert_eq!(schedule.next_due(), Some((id("t"), now)));
    }

    #[test]
    fn the_first_acknowledgement_wakes_what_was_given_up_until_reconnection() {
        let now = Instant::now();
        let mut schedule = ResendSchedule::default();
        schedule.add(id("t"), orch(), 1, now);
        schedule.record_acknowledgement(&orch(), now);
        assert_eq!(schedule.next_due(), Some((id("t"), now + RESEND_FLOOR)));
    }
}
