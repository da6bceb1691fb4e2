//! The states of jobs and runs, as clients know them.
//!
//! Invariant of [`JobState`] and [`RunState`]: a terminal state is never left.

use std::fmt;

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Created; nothing is decided yet.
    New,
    /// The runs are known; none has started.
    Ready,
    /// Runs are starting and ending.
    Running,
    /// Nothing new starts; runs in flight may finish.
    Stopping,
    /// Over, because it was stopped.
    Stopped,
    /// Over; every run finished.
    Finished,
    /// Over; some run failed, could not run or was skipped.
    Failed,
}

/// The state of a job on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Created; nothing is decided yet.
    New,
    /// Waits for a slot; its request was certainly not sent.
    Ready,
    /// Its request was, or is about to be, sent.
    Running,
    /// The action succeeded.
    Finished,
    /// The action ran and failed.
    Failed,
    /// The action could not be run, or its outcome is unknown.
    Errored,
    /// The action was not started, on purpose.
    Skipped,
}

// === impl JobState ===

impl JobState {
    /// The name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }

    /// Reads what [`Self::as_str`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::New,
            Self::Ready,
            Self::Running,
            Self::Stopping,
            Self::Stopped,
            Self::Finished,
            Self::Failed,
        ]
        .into_iter()
        .find(|state| state.as_str() == text)
    }

    /// True if the job is over.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Stopped | Self::Finished | Self::Failed)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl RunState ===

impl RunState {
    /// The name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Skipped => "skipped",
        }
    }

    /// Reads what [`Self::as_str`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::New,
            Self::Ready,
            Self::Running,
            Self::Finished,
            Self::Failed,
            Self::Errored,
            Self::Skipped,
        ]
        .into_iter()
        .find(|state| state.as_str() == text)
    }

    /// True if the run is over.
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Finished | Self::Failed | Self::Errored | Self::Skipped
        )
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_unknown_ones_are_refused() {
        for name in [
            "new", "ready", "running", "stopping", "stopped", "finished", "failed",
        ] {
            assert_eq!(JobState::parse(name).map(JobState::as_str), Some(name));
        }
        for name in [
            "new", "ready", "running", "finished", "failed", "errored", "skipped",
        ] {
            assert_eq!(RunState::parse(name).map(RunState::as_str), Some(name));
        }
        assert_eq!(JobState::parse("errored"), None);
        assert_eq!(RunState::parse("stopped"), None);
    }
}
