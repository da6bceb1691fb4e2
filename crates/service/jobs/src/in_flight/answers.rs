//! Conclusions from an agent's answer to a status query.
//!
//! Invariant, and the reason for the whole crate: a request is sent a second time only when the
//! agent has *proved* that it never got the first, and it bears the same transaction id.

use tokio::time::Instant;
use uuid::Uuid;

use super::{AgentStatus, InFlightRun, PollSettings, StatusStep, UnexpectedAgent, UnknownReason};
use crate::defaults;

// === impl InFlightRun ===

impl InFlightRun {
    /// An agent with this spool now uses the node's certname. If it is not the one that the run was
    /// marked for, no `unknown` is a proof any more: either may have got the request.
    ///
    /// An agent without a spool id is weaker evidence than one with another: a broker that lost a
    /// session before it could report the agent's announcement looks the same. So its effect is
    /// cleared when the right spool answers again, unless the request was sent meanwhile. A stock
    /// agent that had got it would have confirmed it, and a confirmed request is never resent.
    pub(crate) fn record_agent(&mut self, found: Option<Uuid>) {
        let Some(expected) = self.spool_id else {
            return;
        };
        let only_nameless = self
            .unexpected_agent
            .is_none_or(|known| known.found.is_none());
        if found != Some(expected) && only_nameless {
            self.unexpected_agent = Some(UnexpectedAgent { expected, found });
        } else if found == Some(expected) && only_nameless && !self.sent_to_unexpected {
            self.unexpected_agent = None;
        }
    }

    /// Records that the request is sent to an agent with this spool.
    pub(crate) fn record_sent_to(&mut self, found: Option<Uuid>) {
        self.record_agent(found);
        self.sent_to_unexpected |= self.spool_id.is_some() && found != self.spool_id;
    }

    /// Handles the agent's answer to a status query.
    pub(crate) fn handle_status(
        &mut self,
        now: Instant,
        status: AgentStatus,
        patience: &PollSettings,
    ) -> StatusStep {
        if let AgentStatus::Unknown { spool_id } = status {
            self.record_agent(spool_id);
            if self.unexpected_agent.is_some() {
                // The answer is from another agent; the one that was asked may only be away for
                // now.
                return StatusStep::Wait;
            }
        }
        self.record_sign_of_life(now, patience);
        match status {
            AgentStatus::Running => {
                self.accepted = true;
                StatusStep::Wait
            }
            AgentStatus::Ended => StatusStep::Record,
            // Nothing was sent yet, so the agent cannot know the run.
            AgentStatus::Unknown { .. } if self.retry => StatusStep::Wait,
            AgentStatus::Unknown { spool_id } => self.handle_unknown(now, spool_id),
        }
    }

    fn handle_unknown(&mut self, now: Instant, spool_id: Option<Uuid>) -> StatusStep {
        let why = match (self.spool_id, spool_id) {
            _ if self.accepted => UnknownReason::Forgotten,
            (None, _) | (_, None) => UnknownReason::NoSpoolId,
            _ if self
                .sent
                .is_none_or(|sent| now - sent > defaults::RESEND_MAX_AGE) =>
            {
                UnknownReason::TooLongAgo
            }
            _ if self.resends >= defaults::RESEND_LIMIT => UnknownReason::ResentOften,
            _ => {
                self.resends += 1;
                return StatusStep::Resend;
            }
        };
        StatusStep::Unknown(why)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::TickStep;
    use super::super::tests::{HOUR, PATIENCE, seconds};
    use super::*;

    #[test]
    fn only_the_same_spool_proves_that_the_request_was_never_received() {
        let now = Instant::now();
        let (spool, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let unknown = |recorded, reported| {
            let mut flight = InFlightRun::new(now, HOUR, recorded, &PATIENCE);
            flight.handle_status(now, AgentStatus::Unknown { spool_id: reported }, &PATIENCE)
        };
        assert_eq!(unknown(Some(spool), Some(spool)), StatusStep::Resend);
        assert_eq!(unknown(Some(spool), Some(other)), StatusStep::Wait);
        assert_eq!(unknown(Some(spool), None), StatusStep::Wait);
        assert_eq!(
            unknown(None, Some(spool)),
            StatusStep::Unknown(UnknownReason::NoSpoolId)
        );
        assert_eq!(
            unknown(None, None),
            StatusStep::Unknown(UnknownReason::NoSpoolId)
        );
    }

    #[test]
    fn another_agent_of_the_same_name_is_no_answer_and_is_named_at_the_end() {
        let start = Instant::now();
        let (ours, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut flight = InFlightRun::new(start, HOUR, Some(ours), &PATIENCE);
        flight.record_accepted(start, &PATIENCE);
        for n in 1..=3 {
            let now = seconds(start, n * 12);
            assert_eq!(flight.tick(now, true, true, &PATIENCE), TickStep::Query);
            let spool_id = Some(if n == 2 { ours } else { other });
            let next = flight.handle_status(now, AgentStatus::Unknown { spool_id }, &PATIENCE);
            assert_eq!(
                next,
                StatusStep::Wait,
                "either may have the request: not again"
            );
        }
        let stranger = UnexpectedAgent {
            expected: ours,
            found: Some(other),
        };
        let due = flight.tick(seconds(start, 48), true, true, &PATIENCE);
        assert_eq!(due, TickStep::UnexpectedAgent(stranger));
    }

    #[test]
    fn the_right_agent_may_still_answer_after_another_did() {
        let start = Instant::now();
        let (ours, other) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        let mut flight = InFlightRun::new(start, HOUR, ours, &PATIENCE);
        flight.record_agent(ours);
        flight.record_agent(other);
        let unknown = AgentStatus::Unknown { spool_id: other };
        assert_eq!(
            flight.handle_status(start, unknown, &PATIENCE),
            StatusStep::Wait
        );
        let unknown = AgentStatus::Unknown { spool_id: ours };
        let next = flight.handle_status(start, unknown, &PATIENCE);
        assert_eq!(
            next,
            StatusStep::Wait,
            "the other one may have got the request"
        );
        assert_eq!(
            flight.handle_status(start, AgentStatus::Ended, &PATIENCE),
            StatusStep::Record
        );
    }

    #[test]
    fn the_right_spool_clears_the_mark_of_a_session_without_capabilities() {
        let start = Instant::now();
        let ours = Some(Uuid::from_u128(1));
        let unknown = AgentStatus::Unknown { spool_id: ours };
        let mut flight = InFlightRun::new(start, HOUR, ours, &PATIENCE);
        flight.record_sent_to(ours);
        flight.record_agent(None);
        flight.record_agent(ours);
        assert_eq!(
            flight.handle_status(start, unknown, &PATIENCE),
            StatusStep::Resend
        );

        let mut flight = InFlightRun::new(start, HOUR, ours, &PATIENCE);
        flight.record_sent_to(ours);
        flight.record_agent(None);
        let next = flight.handle_status(start, unknown, &PATIENCE);
        assert_eq!(next, StatusStep::Resend, "its answer is the proof");
    }

    #[test]
    fn the_mark_stays_where_another_agent_may_have_got_the_request() {
        let start = Instant::now();
        let (ours, other) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        let unknown = AgentStatus::Unknown { spool_id: ours };
        let mut flight = InFlightRun::new(start, HOUR, ours, &PATIENCE);
        flight.record_sent_to(None);
        flight.record_agent(ours);
        assert_eq!(
            flight.handle_status(start, unknown, &PATIENCE),
            StatusStep::Wait
        );

        let mut flight = InFlightRun::new(start, HOUR, ours, &PATIENCE);
        flight.record_sent_to(ours);
        for found in [other, None, ours] {
            flight.record_agent(found);
        }
        assert_eq!(
            flight.handle_status(start, unknown, &PATIENCE),
            StatusStep::Wait
        );

        let mut flight = InFlightRun::new(start, HOUR, ours, &PATIENCE);
        flight.record_sent_to(ours);
        flight.record_accepted(start, &PATIENCE);
        for found in [None, ours] {
            flight.record_agent(found);
        }
        let forgotten = StatusStep::Unknown(UnknownReason::Forgotten);
        assert_eq!(flight.handle_status(start, unknown, &PATIENCE), forgotten);
    }

    #[test]
    fn what_the_agent_confirmed_is_never_sent_again() {
        let now = Instant::now();
        let spool = Some(Uuid::from_u128(1));
        let mut flight = InFlightRun::new(now, HOUR, spool, &PATIENCE);
        flight.record_accepted(now, &PATIENCE);
        let next = flight.handle_status(now, AgentStatus::Unknown { spool_id: spool }, &PATIENCE);
        assert_eq!(next, StatusStep::Unknown(UnknownReason::Forgotten));
    }

    #[test]
    fn an_old_request_is_never_sent_again() {
        let now = Instant::now();
        let spool = Some(Uuid::from_u128(1));
        let ago = defaults::RESEND_MAX_AGE + Duration::from_secs(1);
        let mut flight = InFlightRun::from_recovered(now, ago, 24 * HOUR, spool, &PATIENCE);
        let next = flight.handle_status(now, AgentStatus::Unknown { spool_id: spool }, &PATIENCE);
        assert_eq!(next, StatusStep::Unknown(UnknownReason::TooLongAgo));
    }
}
