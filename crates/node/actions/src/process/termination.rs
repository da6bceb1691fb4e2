//! Decides when an action is over, and when its processes are signalled until then:
//! [`ActionTermination`], a state machine without processes or clocks of its own.
//!
//! Invariants: an action that ends by itself is over when its own process has ended and a short
//! drain has passed, and processes that it left behind are left alone; an action that is cancelled
//! or timed out is over when no process of its tree is left.

use std::time::{Duration, Instant};

use crate::defaults::{KILL_PATIENCE, KILL_ROUND, OUTPUT_DRAIN};

/// Remaining processes of the action's tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemainingProcesses {
    /// The action's own process is running.
    Running,
    /// Only processes that the action left behind are running.
    LeftBehind,
    /// No process is left.
    Empty,
}

/// The supervisor's next step, and the latest time of the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminationStep {
    Wait(Option<Instant>),
    /// Send SIGTERM to the whole tree; call again at the given time.
    Terminate(Instant),
    /// Send SIGKILL to the whole tree; call again at the given time.
    Kill(Instant),
    Finish,
}

#[derive(Debug)]
pub(super) struct ActionTermination {
    phase: TerminationPhase,
    deadline: Option<Instant>,
    grace: Duration,
    cancelled: bool,
    timed_out: bool,
}

#[derive(Debug, Clone, Copy)]
enum TerminationPhase {
    Running,
    Draining { until: Instant },
    StopWanted { force: bool },
    Terminating { kill_at: Instant },
    Killing { give_up_at: Instant },
}

impl ActionTermination {
    /// Creates the state machine. `deadline`: time at which the action times out; `grace`: time
    /// between SIGTERM and SIGKILL.
    pub(super) fn new(deadline: Option<Instant>, grace: Duration) -> Self {
        Self {
            phase: TerminationPhase::Running,
            deadline,
            grace,
            cancelled: false,
            timed_out: false,
        }
    }

    /// Requests the end of the action; `force` skips the grace period.
    pub(super) fn cancel(&mut self, force: bool) {
        match self.phase {
            TerminationPhase::Running => {
                self.cancelled = true;
                self.phase = TerminationPhase::StopWanted { force };
            }
            // The action ended by itself; only processes that it left behind are ended.
            TerminationPhase::Draining { .. } => {
                self.phase = TerminationPhase::StopWanted { force }
            }
            TerminationPhase::StopWanted { .. } | TerminationPhase::Terminating { .. } if force => {
                self.phase = TerminationPhase::StopWanted { force };
            }
            TerminationPhase::StopWanted { .. }
            | TerminationPhase::Terminating { .. }
            | TerminationPhase::Killing { .. } => {}
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    pub(super) fn has_timed_out(&self) -> bool {
        self.timed_out
    }

    pub(super) fn next_step(&mut self, now: Instant, tree: RemainingProcesses) -> TerminationStep {
        if tree == RemainingProcesses::Empty {
            return TerminationStep::Finish;
        }
        match self.phase {
            TerminationPhase::Running if tree == RemainingProcesses::LeftBehind => {
                let until = now + OUTPUT_DRAIN;
                self.phase = TerminationPhase::Draining { until };
                TerminationStep::Wait(Some(until))
            }
            TerminationPhase::Running if self.deadline.is_some_and(|deadline| now >= deadline) => {
                self.timed_out = true;
                self.phase = TerminationPhase::StopWanted { force: false };
                self.next_step(now, tree)
            }
            TerminationPhase::Running => TerminationStep::Wait(self.deadline),
            TerminationPhase::Draining { until } if now >= until => TerminationStep::Finish,
            TerminationPhase::Draining { until } => TerminationStep::Wait(Some(until)),
            TerminationPhase::StopWanted { force: false } => {
                let kill_at = now + self.grace;
                self.phase = TerminationPhase::Terminating { kill_at };
                TerminationStep::Terminate(kill_at)
            }
            TerminationPhase::Terminating { kill_at } if now < kill_at => {
                TerminationStep::Wait(Some(kill_at))
            }
            TerminationPhase::Terminating { .. } | TerminationPhase::StopWanted { force: true } => {
                self.phase = TerminationPhase::Killing {
                    give_up_at: now + KILL_PATIENCE,
                };
                TerminationStep::Kill(now + KILL_ROUND)
            }
            // While the action's own process lives its end is not known, so there is nothing to
            // record, and giving up would report a false end.
            TerminationPhase::Killing { give_up_at }
                if now >= give_up_at && tree == RemainingProcesses::LeftBehind =>
            {
                TerminationStep::Finish
            }
            TerminationPhase::Killing { .. } => TerminationStep::Kill(now + KILL_ROUND),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(3);

    fn running() -> (ActionTermination, Instant) {
        (ActionTermination::new(None, GRACE), Instant::now())
    }

    #[test]
    fn a_plain_action_ends_with_its_process() {
        let (mut ending, now) = running();
        assert_eq!(
            ending.next_step(now, RemainingProcesses::Running),
            TerminationStep::Wait(None)
        );
        assert_eq!(
            ending.next_step(now, RemainingProcesses::Empty),
            TerminationStep::Finish
        );
        assert!(!ending.is_cancelled() && !ending.has_timed_out());
    }

    #[test]
    fn what_is_left_behind_may_drain_and_is_left_alone() {
        let (mut ending, now) = running();
        let until = now + OUTPUT_DRAIN;
        assert_eq!(
            ending.next_step(now, RemainingProcesses::LeftBehind),
            TerminationStep::Wait(Some(until))
        );
        assert_eq!(
            ending.next_step(now, RemainingProcesses::LeftBehind),
            TerminationStep::Wait(Some(until))
        );
        assert_eq!(
            ending.next_step(until, RemainingProcesses::LeftBehind),
            TerminationStep::Finish
        );
    }

    #[test]
    fn a_cancel_asks_then_kills_until_nothing_is_left() {
        let (mut ending, now) = running();
        ending.cancel(false);
        let kill_at = now + GRACE;
        assert_eq!(
            ending.next_step(now, RemainingProcesses::Running),
            TerminationStep::Terminate(kill_at)
        );
        // The main process exits; one of its children does not.
        assert_eq!(
            ending.next_step(now, RemainingProcesses::LeftBehind),
            TerminationStep::Wait(Some(kill_at))
        );
        ending.cancel(false);
        assert_eq!(
            ending.next_step(now, RemainingProcesses::LeftBehind),
            TerminationStep::Wait(Some(kill_at)),
            "one SIGTERM"
        );
        assert_eq!(
            ending.next_step(kill_at, RemainingProcesses::LeftBehind),
            TerminationStep::Kill(kill_at + KILL_ROUND)
        );
        assert_eq!(
            ending.next_step(kill_at, RemainingProcesses::LeftBehind),
            TerminationStep::Kill(kill_at + KILL_ROUND)
        );
        assert_eq!(
            ending.next_step(kill_at, RemainingProcesses::Empty),
            TerminationStep::Finish
        );
        assert!(ending.is_cancelled());
    }

    #[test]
    fn force_skips_the_grace_also_after_a_polite_cancel() {
        for polite_first in [false, true] {
            let (mut ending, now) = running();
            if polite_first {
                ending.cancel(false);
                ending.next_step(now, RemainingProcesses::Running);
            }
            ending.cancel(true);
            assert_eq!(
                ending.next_step(now, RemainingProcesses::Running),
                TerminationStep::Kill(now + KILL_ROUND)
            );
        }
    }

    #[test]
    fn the_deadline_stops_the_tree_and_is_told_from_a_cancel() {
        let now = Instant::now();
        let deadline = now + Duration::from_secs(9);
        let mut ending = ActionTermination::new(Some(deadline), GRACE);
        assert_eq!(
            ending.next_step(now, RemainingProcesses::Running),
            TerminationStep::Wait(Some(deadline))
        );
        assert_eq!(
            ending.next_step(deadline, RemainingProcesses::Running),
            TerminationStep::Terminate(deadline + GRACE)
        );
        assert!(ending.has_timed_out() && !ending.is_cancelled());
    }

    #[test]
    fn giving_up_needs_the_fate_of_the_main_process() {
        let (mut ending, now) = running();
        ending.cancel(true);
        ending.next_step(now, RemainingProcesses::Running);
        let late = now + KILL_PATIENCE;
        assert_eq!(
            ending.next_step(late, RemainingProcesses::Running),
            TerminationStep::Kill(late + KILL_ROUND)
        );
        assert_eq!(
            ending.next_step(late, RemainingProcesses::LeftBehind),
            TerminationStep::Finish
        );
    }

    #[test]
    fn a_cancel_during_the_drain_ends_what_is_left_but_not_the_result() {
        let (mut ending, now) = running();
        ending.next_step(now, RemainingProcesses::LeftBehind);
        ending.cancel(false);
        assert_eq!(
            ending.next_step(now, RemainingProcesses::LeftBehind),
            TerminationStep::Terminate(now + GRACE)
        );
        assert!(!ending.is_cancelled());
    }
}
