//! Progress of a job: the part without I/O.
//!
//! [`Tally`] counts the runs of one job and determines the job's end. Invariant: it reports the end
//! exactly once, after the last run.

use crate::state::{JobState, RunState};

/// Counts of one job.
#[derive(Debug)]
pub(crate) struct Tally {
    open: usize,
    unsuccessful: usize,
    stop: Stop,
    ended: bool,
}

/// Reason and severity of a job's stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    No,
    /// Too many runs failed: nothing new starts.
    ByFailures,
    /// Nothing new starts; runs in flight go on.
    Gently,
    /// Nothing new starts, and runs in flight are cancelled.
    ByForce,
}

// === impl Tally ===

impl Tally {
    pub(crate) fn new(open: usize, unsuccessful: usize, stop: Stop) -> Self {
        Self {
            open,
            unsuccessful,
            stop,
            ended: false,
        }
    }

    /// Counts a run that ended in `state`.
    pub(crate) fn run_ended(&mut self, state: RunState) {
        self.open = self.open.saturating_sub(1);
        if state != RunState::Finished {
            self.unsuccessful += 1;
        }
    }

    /// Stops the job. `true`: this is news (the job was not stopping yet, or less severely).
    pub(crate) fn stop(&mut self, stop: Stop) -> bool {
        let news = stop > self.stop;
        self.stop = self.stop.max(stop);
        news
    }

    pub(crate) fn stopping(&self) -> Stop {
        self.stop
    }

    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// The job's last state and the type of its last event, when its last run has ended; returned
    /// once.
    pub(crate) fn end(&mut self) -> Option<(JobState, &'static str)> {
        if self.open > 0 || self.ended {
            return None;
        }
        self.ended = true;
        Some(self.last_state())
    }

    /// Counts a run that ended in `state` as errored instead. Returns the job's updated end if it
    /// was returned before.
    pub(crate) fn run_errored_after_all(
        &mut self,
        state: RunState,
    ) -> Option<(JobState, &'static str)> {
        if state == RunState::Finished {
            self.unsuccessful += 1;
        }
        self.ended.then(|| self.last_state())
    }

    fn last_state(&self) -> (JobState, &'static str) {
        match self.stop {
            Stop::ByForce => (JobState::Stopped, "job_aborted"),
            Stop::Gently => (JobState::Stopped, "job_finished"),
            Stop::No if self.unsuccessful == 0 => (JobState::Finished, "job_finished"),
            Stop::No | Stop::ByFailures => (JobState::Failed, "job_finished"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end_of(states: &[RunState], stop: Stop) -> Option<(JobState, &'static str)> {
        let mut tally = Tally::new(states.len(), 0, Stop::No);
        tally.stop(stop);
        for state in states {
            assert_eq!(tally.end(), None, "over before its last run");
            tally.run_ended(*state);
        }
        let end = tally.end();
        assert_eq!(tally.end(), None, "over twice");
        end
    }

    #[test]
    fn a_job_is_finished_only_when_every_run_is() {
        use RunState::{Errored, Failed, Finished, Skipped};
        let finished = Some((JobState::Finished, "job_finished"));
        let failed = Some((JobState::Failed, "job_finished"));
        assert_eq!(end_of(&[Finished, Finished], Stop::No), finished);
        for other in [Failed, Errored, Skipped] {
            assert_eq!(end_of(&[Finished, other], Stop::No), failed);
        }
    }

    #[test]
    fn a_stopped_job_is_stopped_whatever_its_runs_did() {
        use RunState::{Failed, Finished};
        let gently = Some((JobState::Stopped, "job_finished"));
        let by_force = Some((JobState::Stopped, "job_aborted"));
        assert_eq!(end_of(&[Finished, Failed], Stop::Gently), gently);
        assert_eq!(end_of(&[Finished], Stop::ByForce), by_force);
    }

    #[test]
    fn force_is_news_after_a_gentle_stop_and_not_the_other_way_round() {
        let mut tally = Tally::new(1, 0, Stop::No);
        assert!(tally.stop(Stop::Gently));
        assert!(!tally.stop(Stop::Gently));
        assert!(tally.stop(Stop::ByForce));
        assert!(!tally.stop(Stop::Gently));
        assert_eq!(tally.stopping(), Stop::ByForce);
    }
}
