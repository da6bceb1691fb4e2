//! One run between its mark and its end: when to ask, when to cancel, when to give up, and what
//! an agent's answer to "how did it go" allows.
//!
//! [`Flight`] is a state machine without I/O; time is handed in. The rule, and the reason for the
//! whole crate: a request is sent a second time only when the agent has *proved* that it never
//! got the first, and it bears the same transaction id.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use crate::defaults;

/// The intervals that a flight goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) poll_interval: Duration,
    pub(crate) poll_limit: u32,
    pub(crate) cancel_grace: Duration,
}

/// A run whose request was, or is about to be, sent.
#[derive(Debug)]
pub(crate) struct Flight {
    deadline: Instant,
    next_poll: Instant,
    unanswered: u32,
    /// The agent said that it has the request.
    accepted: bool,
    /// The spool of the agent at the time of the mark; `None`: a stock agent, or not known.
    spool_id: Option<Uuid>,
    /// Another agent than that one was seen under the node's name.
    stranger: Option<Stranger>,
    /// When the request was first sent; `None`: before this machine's clock began.
    sent: Option<Instant>,
    cancelling: Option<(CancelReason, Instant)>,
    resends: u8,
    busy: u8,
    /// Send the request (again) at the next tick: the node's queue was full.
    retry: bool,
}

/// An agent that bears the node's name and does not have the spool that the run was marked for:
/// the node was set up anew, or two agents share a certname.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stranger {
    /// The spool that the run was marked for.
    pub(crate) expected: Uuid,
    /// The other agent's; `None`: it has no such thing (a stock agent).
    pub(crate) found: Option<Uuid>,
}

/// Why an action is being cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelReason {
    Timeout,
    Stop,
}

/// What a tick asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    /// Send the request: nothing of it was sent when last tried.
    Retry,
    /// Ask the agent how the run goes.
    Ask,
    /// Tell the agent to cancel.
    Cancel,
    /// The time of the run is over and the agent cannot be told.
    TimedOut,
    /// The agent was told to cancel and did not report in time.
    CancelUnanswered(CancelReason),
    /// The node stayed silent through `asked` polls.
    Silent {
        asked: u32,
    },
    /// As silent; all that answered was another agent.
    Estranged(Stranger),
}

/// What an agent said to a status query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Running,
    /// It has the outcome.
    Ended,
    Unknown {
        spool_id: Option<Uuid>,
    },
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Wait,
    Record,
    Resend,
    /// Nobody can say how it ended.
    Unknown(WhyUnknown),
}

/// Why an agent's `unknown` is no proof that it never got the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhyUnknown {
    /// The agent cannot say which spool it speaks for.
    NoSpoolId,
    /// It had confirmed the request before.
    Forgotten,
    /// Only an agent with another spool than at dispatch has answered.
    OtherAgent(Stranger),
    /// Its spool may have been purged since.
    TooLongAgo,
    /// It was sent again already, as often as is sensible.
    ResentOften,
    /// It went over SSH, and the process that watched it is gone.
    OverSsh,
}

// === impl Flight ===

impl Flight {
    pub(crate) fn new(
        now: Instant,
        timeout: Duration,
        spool_id: Option<Uuid>,
        patience: &Patience,
    ) -> Self {
        Self {
            deadline: now + timeout,
            next_poll: now + patience.poll_interval,
            unanswered: 0,
            accepted: false,
            spool_id,
            stranger: None,
            sent: Some(now),
            cancelling: None,
            resends: 0,
            busy: 0,
            retry: false,
        }
    }

    /// A run that was marked `ago` before this engine knew of it; it is asked at once.
    pub(crate) fn recovered(
        now: Instant,
        ago: Duration,
        timeout: Duration,
        spool_id: Option<Uuid>,
        patience: &Patience,
    ) -> Self {
        Self {
            deadline: now + timeout.saturating_sub(ago),
            next_poll: now,
            sent: now.checked_sub(ago),
            ..Self::new(now, timeout, spool_id, patience)
        }
    }

    pub(crate) fn tick(
        &mut self,
        now: Instant,
        can_cancel: bool,
        connected: bool,
        patience: &Patience,
    ) -> Due {
        if let Some((reason, until)) = self.cancelling {
            if now >= until {
                return Due::CancelUnanswered(reason);
            }
        } else if now >= self.deadline && !can_cancel {
            return Due::TimedOut;
        } else if let Some(due) = self.tick_unheard(now, can_cancel, patience) {
            return due;
        }
        if self.retry && connected {
            self.retry = false;
            return Due::Retry;
        }
        if now < self.next_poll {
            return Due::Nothing;
        }
        self.next_poll = now + patience.poll_interval;
        if self.unanswered >= patience.poll_limit {
            let asked = self.unanswered;
            return self.stranger.map_or(Due::Silent { asked }, Due::Estranged);
        }
        self.unanswered += 1;
        if connected { Due::Ask } else { Due::Nothing }
    }

    /// The part of [`Self::tick`] that needs no ear for the agent: its time limit holds although
    /// nobody could hear what it says.
    pub(crate) fn tick_unheard(
        &mut self,
        now: Instant,
        can_cancel: bool,
        patience: &Patience,
    ) -> Option<Due> {
        if self.cancelling.is_some() || now < self.deadline || !can_cancel {
            return None;
        }
        self.cancel(now, CancelReason::Timeout, patience);
        Some(Due::Cancel)
    }

    /// For so long nobody could hear the agent: that is not held against it.
    pub(crate) fn unheard(&mut self, for_so_long: Duration) {
        self.next_poll += for_so_long;
        if let Some((_, until)) = &mut self.cancelling {
            *until += for_so_long;
        }
    }

    /// The agent will be told to end the action; its report is awaited for the grace time.
    pub(crate) fn cancel(&mut self, now: Instant, reason: CancelReason, patience: &Patience) {
        self.cancelling = Some((reason, now + patience.cancel_grace));
    }

    pub(crate) fn cancelling(&self) -> Option<CancelReason> {
        self.cancelling.map(|(reason, _)| reason)
    }

    /// The agent has the request.
    pub(crate) fn accepted(&mut self, now: Instant, patience: &Patience) {
        self.accepted = true;
        self.heard(now, patience);
    }

    /// Any sign of life of this run.
    pub(crate) fn heard(&mut self, now: Instant, patience: &Patience) {
        self.unanswered = 0;
        self.next_poll = now + patience.poll_interval;
    }

    /// The node is back: ask at the next tick, an outcome may have been lost on the way.
    pub(crate) fn reconnected(&mut self, now: Instant) {
        self.next_poll = now;
    }

    /// An agent with this spool bears the node's name now. If it is not the one that the run was
    /// marked for, nobody's `unknown` proves anything any more: either may have got the request.
    pub(crate) fn met(&mut self, found: Option<Uuid>) {
        if let Some(expected) = self.spool_id
            && found != Some(expected)
        {
            self.stranger = Some(Stranger { expected, found });
        }
    }

    /// Whether the request was sent more than once.
    pub(crate) fn was_resent(&self) -> bool {
        self.resends > 0
    }

    /// Nothing of the request was sent when last tried, and it is to be tried again.
    pub(crate) fn waits_to_be_sent(&self) -> bool {
        self.retry
    }

    /// Nothing of a repeated request was sent, the node is away: when it is back.
    pub(crate) fn postpone(&mut self) {
        self.retry = true;
    }

    /// Whether [`Self::tick`] would say anything but [`Due::Nothing`].
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let end = self.cancelling.map_or(self.deadline, |(_, until)| until);
        self.retry || now >= end || now >= self.next_poll
    }

    /// Nothing of the request was sent, the queue was full. `false`: tried often enough.
    pub(crate) fn busy(&mut self) -> bool {
        self.busy += 1;
        self.retry = self.busy <= defaults::BUSY_LIMIT;
        self.retry
    }

    /// The agent answered a status query.
    pub(crate) fn answer(&mut self, now: Instant, status: Status, patience: &Patience) -> Next {
        if let Status::Unknown { spool_id } = status {
            self.met(spool_id);
            if self.stranger.is_some() {
                // No answer from the agent that was asked: the other one may be away for now.
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
            // Nothing was sent yet: no wonder that it does not know.
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
    use super::*;

    const PATIENCE: Patience = Patience {
        poll_interval: Duration::from_secs(12),
        poll_limit: 3,
        cancel_grace: Duration::from_secs(10),
    };
    const HOUR: Duration = Duration::from_secs(3_600);

    fn seconds(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn a_silent_node_is_asked_a_bounded_number_of_times() {
        let start = Instant::now();
        let mut flight = Flight::new(start, HOUR, None, &PATIENCE);
        let due: Vec<Due> = (1..=5)
            .map(|n| flight.tick(seconds(start, n * 12), true, true, &PATIENCE))
            .collect();
        let silent = Due::Silent { asked: 3 };
        assert_eq!(due[..4], [Due::Ask, Due::Ask, Due::Ask, silent]);
    }

    #[test]
    fn a_node_that_is_away_counts_as_silent_and_is_asked_when_it_is_back() {
        let start = Instant::now();
        let mut flight = Flight::new(start, HOUR, None, &PATIENCE);
        assert_eq!(
            flight.tick(seconds(start, 12), true, false, &PATIENCE),
            Due::Nothing
        );
        flight.reconnected(seconds(start, 13));
        assert_eq!(
            flight.tick(seconds(start, 13), true, true, &PATIENCE),
            Due::Ask
        );
        assert_eq!(
            flight.answer(seconds(start, 13), Status::Running, &PATIENCE),
            Next::Wait,
            "it runs: the outcome will come"
        );
        for n in 1..=3 {
            let due = flight.tick(seconds(start, 13 + n * 12), true, true, &PATIENCE);
            assert_eq!(due, Due::Ask, "the answer set the count back");
        }
    }

    #[test]
    fn the_deadline_cancels_where_it_can_and_ends_where_it_cannot() {
        let start = Instant::now();
        let minute = Duration::from_secs(60);
        let mut stock = Flight::new(start, minute, None, &PATIENCE);
        assert_eq!(
            stock.tick(seconds(start, 60), false, true, &PATIENCE),
            Due::TimedOut
        );

        let mut ours = Flight::new(start, minute, None, &PATIENCE);
        assert_eq!(
            ours.tick(seconds(start, 60), true, true, &PATIENCE),
            Due::Cancel
        );
        ours.heard(seconds(start, 61), &PATIENCE);
        assert_eq!(
            ours.tick(seconds(start, 69), true, true, &PATIENCE),
            Due::Nothing
        );
        let end = Due::CancelUnanswered(CancelReason::Timeout);
        assert_eq!(ours.tick(seconds(start, 70), true, true, &PATIENCE), end);
    }

    #[test]
    fn while_nobody_listens_silence_and_a_missing_report_are_not_held_against_the_agent() {
        let start = Instant::now();
        let minute = Duration::from_secs(60);
        let mut flight = Flight::new(start, minute, None, &PATIENCE);
        for n in 1..60 {
            flight.unheard(Duration::from_secs(1));
            assert_eq!(
                flight.tick_unheard(seconds(start, n), true, &PATIENCE),
                None
            );
        }
        assert_eq!(
            flight.tick(seconds(start, 59), true, true, &PATIENCE),
            Due::Nothing
        );

        let due = flight.tick_unheard(seconds(start, 60), true, &PATIENCE);
        assert_eq!(due, Some(Due::Cancel), "its time limit holds all the same");
        flight.unheard(Duration::from_secs(20));
        assert_eq!(
            flight.tick(seconds(start, 70), true, true, &PATIENCE),
            Due::Nothing
        );
        let end = Due::CancelUnanswered(CancelReason::Timeout);
        assert_eq!(flight.tick(seconds(start, 90), true, true, &PATIENCE), end);
    }

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

    #[test]
    fn a_recovered_run_is_asked_at_once_and_keeps_its_deadline() {
        let now = Instant::now();
        let ago = Duration::from_secs(50);
        let minute = Duration::from_secs(60);
        let mut flight = Flight::recovered(now, ago, minute, None, &PATIENCE);
        assert_eq!(flight.tick(now, false, true, &PATIENCE), Due::Ask);
        assert_eq!(
            flight.tick(seconds(now, 10), false, true, &PATIENCE),
            Due::TimedOut
        );
    }

    #[test]
    fn a_full_queue_is_tried_again_a_bounded_number_of_times() {
        let start = Instant::now();
        let mut flight = Flight::new(start, HOUR, None, &PATIENCE);
        for _ in 0..defaults::BUSY_LIMIT {
            assert!(flight.busy());
            assert_eq!(flight.tick(start, true, true, &PATIENCE), Due::Retry);
        }
        assert!(!flight.busy());
    }
}
