//! Progress of a job: the part without I/O.
//!
//! [`RunTally`] counts the runs of one job and determines the job's end. Invariant: it reports the end
//! exactly once, after the last run.

use crate::state::{JobState, RunState};

/// Counts of one job.
#[derive(Debug)]
pub(crate) struct RunTally {
    open: usize,
    unsuccessful: usize,
    stop: StopSeverity,
    ended: bool,
}

/// Reason and severity of a job's stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StopSeverity {
    No,
    /// Too many runs failed: nothing new starts.
    ByFailures,
    /// Nothing new starts; runs in flight go on.
    Gently,
    /// Nothing new starts, and runs in flight are cancelled.
    ByForce,
}

// === impl RunTally ===

impl RunTally {
    pub(crate) fn new(open: usize, unsuccessful: usize, stop: StopSeverity) -> Self {
        Self {
            open,
            unsuccessful,
            stop,
            ended: false,
        }
    }

    /// Counts a run that ended in `state`.
    pub(crate) fn record_run_end(&mut self, state: RunState) {
        self.open = self.open.saturating_sub(1);
        if state != RunState::Finished {
            self.unsuccessful += 1;
        }
    }

    /// Stops the job. `true`: this is news (the job was not stopping yet, or less severely).
    pub(crate) fn stop(&mut self, stop: StopSeverity) -> bool {
        let news = stop > self.stop;
        self.stop = self.stop.max(stop);
        news
    }

    pub(crate) fn stop_severity(&self) -> StopSeverity {
        self.stop
    }

    pub(crate) fn open_runs(&self) -> usize {
        self.open
    }

    /// The job's last state and the type of its last event, when its last run has ended; returned
    /// once.
    pub(crate) fn take_job_end(&mut self) -> Option<(JobState, &'static str)> {
        if self.open > 0 || self.ended {
            return None;
        }
        self.ended = true;
        Some(self.last_state())
    }

    /// Counts a run that ended in `state` as errored instead. Returns the job's updated end if it
    /// was returned before.
    pub(crate) fn reclassify_as_errored(
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
            StopSeverity::ByForce => (JobState::Stopped, "job_aborted"),
            StopSeverity::Gently => (JobState::Stopped, "job_finished"),
            StopSeverity::No if self.unsuccessful == 0 => (JobState::Finished, "job_finished"),
            StopSeverity::No | StopSeverity::ByFailures => (JobState::Failed, "job_finished"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end_of(states: &[RunState], stop: StopSeverity) -> Option<(JobState, &'static str)> {
        let mut tally = RunTally::new(states.len(), 0, StopSeverity::No);
        tally.stop(stop);
        for state in states {
            assert_eq!(tally.take_job_end(), None, "over before its last run");
            tally.record_run_end(*state);
        }
        let end = tally.take_job_end();
        assert_eq!(tally.take_job_end(), None, "over twice");
        end
    }

    #[test]
    fn a_job_is_finished_only_when_every_run_is() {
        use RunState::{Errored, Failed, Finished, Skipped};
        let finished = Some((JobState::Finished, "job_finished"));
        let failed = Some((JobState::Failed, "job_finished"));
        assert_eq!(end_of(&[Finished, Finished], StopSeverity::No), finished);
        for other in [Failed, Errored, Skipped] {
            assert_eq!(end_of(&[Finished, other], StopSeverity::No), failed);
        }
    }

    #[test]
    fn a_stopped_job_is_stopped_whatever_its_runs_did() {
        use RunState::{Failed, Finished};
        let gently = Some((JobState::Stopped, "job_finished"));
        let by_force = Some((JobState::Stopped, "job_aborted"));
        assert_eq!(end_of(&[Finished, Failed], StopSeverity::Gently), gently);
        assert_eq!(end_of(&[Finished], StopSeverity::ByForce), by_force);
    }

    #[test]
    fn force_is_news_after_a_gentle_stop_and_not_the_other_way_round() {
        let mut tally = RunTally::new(1, 0, StopSeverity::No);
        assert!(tally.stop(StopSeverity::Gently));
        assert!(!tally.stop(StopSeverity::Gently));
        assert!(tally.stop(StopSeverity::ByForce));
        assert!(!tally.stop(StopSeverity::Gently));
        assert_eq!(tally.stop_severity(), StopSeverity::ByForce);
    }
}
