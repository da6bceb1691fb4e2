//! Conclusions from an agent's answer to a status query.
//!
//! Invariant, and the reason for the whole crate: a request is sent a second time only when the
//! agent has *proved* that it never got the first, and it bears the same transaction id.

use tokio::time::Instant;
use uuid::Uuid;

use super::{Flight, Next, Patience, Status, Stranger, WhyUnknown};
use crate::defaults;

// === impl Flight ===

impl Flight {
    /// An agent with this spool now uses the node's certname. If it is not the one that the run was
    /// marked for, no `unknown` is a proof any more: either may have got the request.
    ///
    /// An agent without a spool id is weaker evidence than one with another: a broker that lost a
    /// session before it could report the agent's announcement looks the same. So its effect is
    /// cleared when the right spool answers again, unless the request was sent meanwhile. A stock
    /// agent that had got it would have confirmed it, and a confirmed request is never resent.
    pub(crate) fn met(&mut self, found: Option<Uuid>) {
        let Some(expected) = self.spool_id else {
            return;
        };
        let only_nameless = self.stranger.is_none_or(|known| known.found.is_none());
        if found != Some(expected) && only_nameless {
            self.stranger = Some(Stranger { expected, found });
        } else if found == Some(expected) && only_nameless && !self.given_to_stranger {
            self.stranger = None;
        }
    }

    /// Records that the request is sent to an agent with this spool.
    pub(crate) fn sent_to(&mut self, found: Option<Uuid>) {
        self.met(found);
        self.given_to_stranger |= self.spool_id.is_some() && found != self.spool_id;
    }

    /// Handles the agent's answer to a status query.
    pub(crate) fn answer(&mut self, now: Instant, status: Status, patience: &Patience) -> Next {
        if let Status::Unknown { spool_id } = status {
            self.met(spool_id);
            if self.stranger.is_some() {
                // The answer is from another agent; the one that was asked may only be away for
                // now.
                return Next::Wait;
            }
        }
        self.heard(now, patience);
        match status {
            Status::Running => {
                self.accepted = true;
                Next::Wait
            }
            Status::Ended => Next::Record,
            // Nothing was sent yet, so the agent cannot know the run.
            Status::Unknown { .. } if self.retry => Next::Wait,
            Status::Unknown { spool_id } => self.unknown(now, spool_id),
        }
    }

    fn unknown(&mut self, now: Instant, spool_id: Option<Uuid>) -> Next {
        let why = match (self.spool_id, spool_id) {
            _ if self.accepted => WhyUnknown::Forgotten,
            (None, _) | (_, None) => WhyUnknown::NoSpoolId,
            _ if self
                .sent
                .is_none_or(|sent| now - sent > defaults::RESEND_MAX_AGE) =>
            {
                WhyUnknown::TooLongAgo
            }
            _ if self.resends >= defaults::RESEND_LIMIT => WhyUnknown::ResentOften,
            _ => {
                self.resends += 1;
                return Next::Resend;
            }
        };
        Next::Unknown(why)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Due;
    use super::super::tests::{HOUR, PATIENCE, seconds};
    use super::*;

    #[test]
    fn only_the_same_spool_proves_that_the_request_was_never_received() {
        let now = Instant::now();
        let (spool, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let unknown = |recorded, reported| {
            let mut flight = Flight::new(now, HOUR, recorded, &PATIENCE);
            flight.answer(now, Status::Unknown { spool_id: reported }, &PATIENCE)
        };
        assert_eq!(unknown(Some(spool), Some(spool)), Next::Resend);
        assert_eq!(unknown(Some(spool), Some(other)), Next::Wait);
        assert_eq!(unknown(Some(spool), None), Next::Wait);
        assert_eq!(
            unknown(None, Some(spool)),
            Next::Unknown(WhyUnknown::NoSpoolId)
        );
        assert_eq!(unknown(None, None), Next::Unknown(WhyUnknown::NoSpoolId));
    }

    #[test]
    fn another_agent_of_the_same_name_is_no_answer_and_is_named_at_the_end() {
        let start = Instant::now();
        let (ours, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut flight = Flight::new(start, HOUR, Some(ours), &PATIENCE);
        flight.accepted(start, &PATIENCE);
        for n in 1..=3 {
            let now = seconds(start, n * 12);
            assert_eq!(flight.tick(now, true, true, &PATIENCE), Due::Ask);
            let spool_id = Some(if n == 2 { ours } else { other });
            let next = flight.answer(now, Status::Unknown { spool_id }, &PATIENCE);
            assert_eq!(next, Next::Wait, "either may have the request: not again");
        }
        let stranger = Stranger {
            expected: ours,
            found: Some(other),
        };
        let due = flight.tick(seconds(start, 48), true, true, &PATIENCE);
        assert_eq!(due, Due::Estranged(stranger));
    }

    #[test]
    fn the_right_agent_may_still_answer_after_another_did() {
        let start = Instant::now();
        let (ours, other) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        let mut flight = Flight::new(start, HOUR, ours, &PATIENCE);
        flight.met(ours);
        flight.met(other);
        let unknown = Status::Unknown { spool_id: other };
        assert_eq!(flight.answer(start, unknown, &PATIENCE), Next::Wait);
        let unknown = Status::Unknown { spool_id: ours };
        let next = flight.answer(start, unknown, &PATIENCE);
        assert_eq!(next, Next::Wait, "the other one may have got the request");
        assert_eq!(flight.answer(start, Status::Ended, &PATIENCE), Next::Record);
    }

    #[test]
    fn the_right_spool_clears_the_mark_of_a_session_without_capabilities() {
        let start = Instant::now();
        let ours = Some(Uuid::from_u128(1));
        let unknown = Status::Unknown { spool_id: ours };
        let mut flight = Flight::new(start, HOUR, ours, &PATIENCE);
        flight.sent_to(ours);
        flight.met(None);
        flight.met(ours);
        assert_eq!(flight.answer(start, unknown, &PATIENCE), Next::Resend);

        let mut flight = Flight::new(start, HOUR, ours, &PATIENCE);
        flight.sent_to(ours);
        flight.met(None);
        let next = flight.answer(start, unknown, &PATIENCE);
        assert_eq!(next, Next::Resend, "its answer is the proof");
    }

    #[test]
    fn the_mark_stays_where_another_agent_may_have_got_the_request() {
        let start = Instant::now();
        let (ours, other) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        let unknown = Status::Unknown { spool_id: ours };
        let mut flight = Flight::new(start, HOUR, ours, &PATIENCE);
        flight.sent_to(None);
        flight.met(ours);
        assert_eq!(flight.answer(start, unknown, &PATIENCE), Next::Wait);

        let mut flight = Flight::new(start, HOUR, ours, &PATIENCE);
        flight.sent_to(ours);
        for found in [other, None, ours] {
            flight.met(found);
        }
        assert_eq!(flight.answer(start, unknown, &PATIENCE), Next::Wait);

        let mut flight = Flight::new(start, HOUR, ours, &PATIENCE);
        flight.sent_to(ours);
        flight.accepted(start, &PATIENCE);
        for found in [None, ours] {
            flight.met(found);
        }
        let forgotten = Next::Unknown(WhyUnknown::Forgotten);
        assert_eq!(flight.answer(start, unknown, &PATIENCE), forgotten);
    }

    #[test]
    fn what_the_agent_confirmed_is_never_sent_again() {
        let now = Instant::now();
        let spool = Some(Uuid::from_u128(1));
        let mut flight = Flight::new(now, HOUR, spool, &PATIENCE);
        flight.accepted(now, &PATIENCE);
        let next = flight.answer(now, Status::Unknown { spool_id: spool }, &PATIENCE);
        assert_eq!(next, Next::Unknown(WhyUnknown::Forgotten));
    }

    #[test]
    fn an_old_request_is_never_sent_again() {
        let now = Instant::now();
        let spool = Some(Uuid::from_u128(1));
        let ago = defaults::RESEND_MAX_AGE + Duration::from_secs(1);
        let mut flight = Flight::recovered(now, ago, 24 * HOUR, spool, &PATIENCE);
        let next = flight.answer(now, Status::Unknown { spool_id: spool }, &PATIENCE);
        assert_eq!(next, Next::Unknown(WhyUnknown::TooLongAgo));
    }
}
