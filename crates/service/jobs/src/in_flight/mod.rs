//! One run between its mark and its end: the times to query, to cancel and to give up. The
//! conclusions from an agent's status answers are in `answers`.
//!
//! [`InFlightRun`] is a state machine without I/O; time is handed in. Invariant: silence is bounded, and
//! time in which the server could not hear an agent does not count against the agent.

mod answers;
mod inputs;

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use crate::defaults;

pub(crate) use inputs::{
    AgentStatus, CancelReason, PollSettings, SilenceWait, StatusStep, TickStep, UnexpectedAgent,
    UnknownReason,
};

/// A run whose request was, or is about to be, sent.
#[derive(Debug)]
pub(crate) struct InFlightRun {
    deadline: Instant,
    next_poll: Instant,
    /// Status requests in a row without an answer, of those that are [counted](Self::next_count).
    unanswered: u32,
    /// Moment from which the next request counts: with a flapping link, the node may be queried
    /// more often, but it is not given up earlier.
    next_count: Instant,
    /// The agent confirmed that it has the request.
    accepted: bool,
    /// The spool of the agent at the time of the mark; `None`: a stock agent, or unknown.
    spool_id: Option<Uuid>,
    /// Another agent that was seen under the node's certname.
    unexpected_agent: Option<UnexpectedAgent>,
    /// The request was sent while another agent was connected under the certname.
    sent_to_unexpected: bool,
    /// Time at which the request was first sent; `None`: before this machine's clock began.
    sent: Option<Instant>,
    cancelling: Option<(CancelReason, Instant)>,
    resends: u8,
    busy: u8,
    /// Send the request (again) at the next tick: the node's queue was full.
    retry: bool,
    /// The store has the end of the wait for this node.
    silence_noted: bool,
    /// The node was not heard since the restart. Its wait is stored at once: otherwise a server
    /// that crashes again and again would begin the wait anew each time.
    unheard_since_restart: bool,
}

// === impl InFlightRun ===

impl InFlightRun {
    pub(crate) fn new(
        now: Instant,
        timeout: Duration,
        spool_id: Option<Uuid>,
        patience: &PollSettings,
    ) -> Self {
        Self {
            deadline: now + timeout,
            next_poll: now + patience.poll_interval,
            unanswered: 0,
            next_count: now + patience.poll_interval,
            accepted: false,
            spool_id,
            unexpected_agent: None,
            sent_to_unexpected: false,
            sent: Some(now),
            cancelling: None,
            resends: 0,
            busy: 0,
            retry: false,
            silence_noted: false,
            unheard_since_restart: false,
        }
    }

    /// The node was silent before the restart, and `left` remains of the wait for it. The wait does
    /// not begin anew, but the node gets time to come back.
    pub(crate) fn restore_silence(&mut self, left: Duration, patience: &PollSettings) {
        let left = left.max(defaults::SILENCE_AFTER_RESTART);
        let polls = left
            .as_nanos()
            .div_ceil(patience.poll_interval.as_nanos().max(1));
        let polls = u32::try_from(polls).unwrap_or(u32::MAX);
        self.unanswered = patience.poll_limit.saturating_sub(polls);
        self.silence_noted = true;
    }

    /// Change of the node's silence that has to be stored; `None` if it did not change.
    pub(crate) fn note_silence(&mut self, patience: &PollSettings) -> Option<SilenceWait> {
        let is_silent = self.unheard_since_restart || self.unanswered >= defaults::SILENCE_NOTED;
        if is_silent == self.silence_noted {
            return None;
        }
        self.silence_noted = is_silent;
        let polls = patience.poll_limit.saturating_sub(self.unanswered);
        Some(match is_silent {
            true => SilenceWait::Lasts(patience.poll_interval * polls),
            false => SilenceWait::Over,
        })
    }

    /// A run that was marked `ago` before this engine loaded it; its node is queried at once.
    pub(crate) fn from_recovered(
        now: Instant,
        ago: Duration,
        timeout: Duration,
        spool_id: Option<Uuid>,
        patience: &PollSettings,
    ) -> Self {
        Self {
            deadline: now + timeout.saturating_sub(ago),
            next_poll: now,
            next_count: now,
            sent: now.checked_sub(ago),
            unheard_since_restart: true,
            ..Self::new(now, timeout, spool_id, patience)
        }
    }

    /// Time since the request was first sent; `None` if that was before this machine's clock began.
    pub(crate) fn age(&self, now: Instant) -> Option<Duration> {
        self.sent.map(|sent| now.saturating_duration_since(sent))
    }

    pub(crate) fn tick(
        &mut self,
        now: Instant,
        can_cancel: bool,
        connected: bool,
        patience: &PollSettings,
    ) -> TickStep {
        if let Some((reason, until)) = self.cancelling {
            if now >= until {
                return TickStep::CancelUnanswered(reason);
            }
        } else if now >= self.deadline && !can_cancel {
            return TickStep::TimedOut;
        } else if let Some(due) = self.tick_unheard(now, can_cancel, patience) {
            return due;
        }
        if self.retry && connected {
            self.retry = false;
            return TickStep::Retry;
        }
        if now < self.next_poll {
            return TickStep::Nothing;
        }
        if now >= self.next_count {
            if self.unanswered >= patience.poll_limit {
                let asked = self.unanswered;
                return self
                    .unexpected_agent
                    .map_or(TickStep::Silent { asked }, TickStep::UnexpectedAgent);
            }
            self.unanswered += 1;
            self.next_count = now + patience.poll_interval;
        }
        self.next_poll = self.next_count;
        if connected {
            TickStep::Query
        } else {
            TickStep::Nothing
        }
    }

    /// The part of [`Self::tick`] that applies although the agent cannot be heard: the run's time
    /// limit.
    pub(crate) fn tick_unheard(
        &mut self,
        now: Instant,
        can_cancel: bool,
        patience: &PollSettings,
    ) -> Option<TickStep> {
        if self.cancelling.is_some() || now < self.deadline || !can_cancel {
            return None;
        }
        self.cancel(now, CancelReason::Timeout, patience);
        Some(TickStep::Cancel)
    }

    /// Excludes a time in which the agent could not be heard from its silence.
    pub(crate) fn exclude_unheard(&mut self, for_so_long: Duration) {
        self.next_poll += for_so_long;
        self.next_count += for_so_long;
        if let Some((_, until)) = &mut self.cancelling {
            *until += for_so_long;
        }
    }

    /// Records that the agent will be asked to cancel; its report is awaited for the grace time.
    pub(crate) fn cancel(&mut self, now: Instant, reason: CancelReason, patience: &PollSettings) {
        self.cancelling = Some((reason, now + patience.cancel_grace));
    }

    pub(crate) fn cancel_reason(&self) -> Option<CancelReason> {
        self.cancelling.map(|(reason, _)| reason)
    }

    /// Records that the agent confirmed the request.
    pub(crate) fn record_accepted(&mut self, now: Instant, patience: &PollSettings) {
        self.accepted = true;
        self.record_sign_of_life(now, patience);
    }

    /// The spool that the run was marked for.
    pub(crate) fn spool_id(&self) -> Option<Uuid> {
        self.spool_id
    }

    /// True if the agent confirmed the request.
    pub(crate) fn was_accepted(&self) -> bool {
        self.accepted
    }

    /// Records any sign of life of this run.
    pub(crate) fn record_sign_of_life(&mut self, now: Instant, patience: &PollSettings) {
        self.unanswered = 0;
        self.unheard_since_restart = false;
        self.next_count = now + patience.poll_interval;
        self.next_poll = self.next_count;
    }

    /// Records that the node is back: it is queried at the next tick, since an outcome may have
    /// been lost on the way.
    pub(crate) fn record_reconnect(&mut self, now: Instant) {
        self.next_poll = now;
    }

    /// True if the request was sent more than once.
    pub(crate) fn was_resent(&self) -> bool {
        self.resends > 0
    }

    /// True if nothing of the request was sent at the last attempt, and it is to be tried again.
    pub(crate) fn is_send_pending(&self) -> bool {
        self.retry
    }

    /// Defers a repeated request of which nothing was sent, because the node is away, until the
    /// node is back.
    pub(crate) fn postpone(&mut self) {
        self.retry = true;
    }

    /// True if [`Self::tick`] would return anything but [`TickStep::Nothing`].
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let end = self.cancelling.map_or(self.deadline, |(_, until)| until);
        self.retry || now >= end || now >= self.next_poll
    }

    /// Records that nothing of the request was sent because the queue was full. `false`: no
    /// attempts are left.
    pub(crate) fn record_busy(&mut self) -> bool {
        self.busy += 1;
        self.retry = self.busy <= defaults::BUSY_LIMIT;
        self.retry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const PATIENCE: PollSettings = PollSettings {
        poll_interval: Duration::from_secs(12),
        poll_limit: 3,
        cancel_grace: Duration::from_secs(10),
    };
    pub(super) const HOUR: Duration = Duration::from_secs(3_600);

    pub(super) fn seconds(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn a_silent_node_is_asked_a_bounded_number_of_times() {
        let start = Instant::now();
        let mut flight = InFlightRun::new(start, HOUR, None, &PATIENCE);
        let due: Vec<TickStep> = (1..=5)
            .map(|n| flight.tick(seconds(start, n * 12), true, true, &PATIENCE))
            .collect();
        let silent = TickStep::Silent { asked: 3 };
        assert_eq!(
            due[..4],
            [TickStep::Query, TickStep::Query, TickStep::Query, silent]
        );
    }

    #[test]
    fn a_node_that_is_away_counts_as_silent_and_is_asked_when_it_is_back() {
        let start = Instant::now();
        let mut flight = InFlightRun::new(start, HOUR, None, &PATIENCE);
        assert_eq!(
            flight.tick(seconds(start, 12), true, false, &PATIENCE),
            TickStep::Nothing
        );
        flight.record_reconnect(seconds(start, 13));
        assert_eq!(
            flight.tick(seconds(start, 13), true, true, &PATIENCE),
            TickStep::Query
        );
        assert_eq!(
            flight.handle_status(seconds(start, 13), AgentStatus::Running, &PATIENCE),
            StatusStep::Wait,
            "it runs: the outcome will come"
        );
        for n in 1..=3 {
            let due = flight.tick(seconds(start, 13 + n * 12), true, true, &PATIENCE);
            assert_eq!(due, TickStep::Query, "the answer set the count back");
        }
    }

    #[test]
    fn a_flapping_link_does_not_shorten_the_wait_for_a_silent_node() {
        let start = Instant::now();
        let mut flight = InFlightRun::new(start, HOUR, None, &PATIENCE);
        for second in 1..48 {
            let now = seconds(start, second);
            flight.record_reconnect(now);
            let due = flight.tick(now, true, true, &PATIENCE);
            assert_eq!(
                due,
                TickStep::Query,
                "asked after each return, second {second}"
            );
        }
        let due = flight.tick(seconds(start, 48), true, true, &PATIENCE);
        assert_eq!(due, TickStep::Silent { asked: 3 });
    }

    #[test]
    fn the_deadline_cancels_where_it_can_and_ends_where_it_cannot() {
        let start = Instant::now();
        let minute = Duration::from_secs(60);
        let mut stock = InFlightRun::new(start, minute, None, &PATIENCE);
        assert_eq!(
            stock.tick(seconds(start, 60), false, true, &PATIENCE),
            TickStep::TimedOut
        );

        let mut ours = InFlightRun::new(start, minute, None, &PATIENCE);
        assert_eq!(
            ours.tick(seconds(start, 60), true, true, &PATIENCE),
            TickStep::Cancel
        );
        ours.record_sign_of_life(seconds(start, 61), &PATIENCE);
        assert_eq!(
            ours.tick(seconds(start, 69), true, true, &PATIENCE),
            TickStep::Nothing
        );
        let end = TickStep::CancelUnanswered(CancelReason::Timeout);
        assert_eq!(ours.tick(seconds(start, 70), true, true, &PATIENCE), end);
    }

    #[test]
    fn while_nobody_listens_silence_and_a_missing_report_are_not_held_against_the_agent() {
        let start = Instant::now();
        let minute = Duration::from_secs(60);
        let mut flight = InFlightRun::new(start, minute, None, &PATIENCE);
        for n in 1..60 {
            flight.exclude_unheard(Duration::from_secs(1));
            assert_eq!(
                flight.tick_unheard(seconds(start, n), true, &PATIENCE),
                None
            );
        }
        assert_eq!(
            flight.tick(seconds(start, 59), true, true, &PATIENCE),
            TickStep::Nothing
        );

        let due = flight.tick_unheard(seconds(start, 60), true, &PATIENCE);
        assert_eq!(
            due,
            Some(TickStep::Cancel),
            "its time limit holds all the same"
        );
        flight.exclude_unheard(Duration::from_secs(20));
        assert_eq!(
            flight.tick(seconds(start, 70), true, true, &PATIENCE),
            TickStep::Nothing
        );
        let end = TickStep::CancelUnanswered(CancelReason::Timeout);
        assert_eq!(flight.tick(seconds(start, 90), true, true, &PATIENCE), end);
    }

    #[test]
    fn a_recovered_run_is_asked_at_once_and_keeps_its_deadline() {
        let now = Instant::now();
        let ago = Duration::from_secs(50);
        let minute = Duration::from_secs(60);
        let mut flight = InFlightRun::from_recovered(now, ago, minute, None, &PATIENCE);
        assert_eq!(flight.tick(now, false, true, &PATIENCE), TickStep::Query);
        assert_eq!(
            flight.tick(seconds(now, 10), false, true, &PATIENCE),
            TickStep::TimedOut
        );
    }

    #[test]
    fn the_wait_for_a_silent_node_is_noted_and_goes_on_after_a_restart() {
        let patience = PollSettings {
            poll_limit: 35,
            ..PATIENCE
        };
        let start = Instant::now();
        let mut flight = InFlightRun::new(start, HOUR, None, &patience);
        flight.tick(seconds(start, 12), true, true, &patience);
        assert_eq!(flight.note_silence(&patience), None, "one may get lost");
        flight.tick(seconds(start, 24), true, true, &patience);
        let left = 33 * patience.poll_interval;
        assert_eq!(
            flight.note_silence(&patience),
            Some(SilenceWait::Lasts(left))
        );
        assert_eq!(flight.note_silence(&patience), None, "once");

        // Time left of the wait at each of three restarts, and the number of queries then.
        for (left, asked) in [(300, 25), (130, 11), (0, 10)] {
            let mut flight =
                InFlightRun::from_recovered(start, Duration::ZERO, HOUR, None, &patience);
            flight.restore_silence(Duration::from_secs(left), &patience);
            let due: Vec<TickStep> = (0..=asked)
                .map(|n| flight.tick(seconds(start, n * 12), true, true, &patience))
                .collect();
            let (last, polls) = due.split_last().unwrap();
            assert!(
                polls.iter().all(|due| *due == TickStep::Query),
                "{left}: {polls:?}"
            );
            assert_eq!(*last, TickStep::Silent { asked: 35 }, "{left}");
        }

        flight.record_sign_of_life(seconds(start, 25), &patience);
        assert_eq!(flight.note_silence(&patience), Some(SilenceWait::Over));
    }

    #[test]
    fn a_full_queue_is_tried_again_a_bounded_number_of_times() {
        let start = Instant::now();
        let mut flight = InFlightRun::new(start, HOUR, None, &PATIENCE);
        for _ in 0..defaults::BUSY_LIMIT {
            assert!(flight.record_busy());
            assert_eq!(flight.tick(start, true, true, &PATIENCE), TickStep::Retry);
        }
        assert!(!flight.record_busy());
    }
}
