//! The state of a node between two waves: [`NodeState`].
//!
//! Invariant: a state is settled or has the reason for which it is not.

use crate::node_run::RunEnd;

/// The state of a node after its last run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NodeState {
    #[default]
    Settled,
    /// It is not known whether its data of other nodes have changed.
    UnknownImports,
    /// It changed the same as before.
    Repeating {
        resources: Vec<String>,
    },
    /// The last wave has ended, and it would run again.
    Unfinished {
        reason: RerunReason,
    },
    /// It would run again, and has no rerun left.
    WithoutRerun {
        message: String,
    },
    Failed {
        message: String,
    },
    NotRun {
        message: String,
    },
    Skipped {
        message: String,
        failed: String,
    },
}

/// The reason for which a node runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RerunReason {
    /// Its run requested that.
    Requested,
    /// Data of other nodes changed from which its catalog is compiled.
    ImportedData,
    /// It changed something, and only a run without changes counts.
    Changed,
    /// The node runs again because of which it did not run.
    Skipped,
}

// === impl NodeState ===

impl NodeState {
    /// The state after a run with this end.
    pub(crate) fn after(end: RunEnd) -> Self {
        match end {
            RunEnd::Succeeded { .. } => Self::Settled,
            RunEnd::Failed { message } => Self::Failed { message },
            RunEnd::NotRun { message } => Self::NotRun { message },
            RunEnd::Skipped { message, failed } => Self::Skipped { message, failed },
        }
    }
    /// The state of a node that is left out because it has no rerun left. A node that had no success keeps its state.
    pub(crate) fn without_rerun(self, reason: String) -> Self {
        let add = |message: String| format!("{message}; {reason}");
        match self {
            Self::Failed { message } => Self::Failed {
                message: add(message),
            },
            Self::NotRun { message } => Self::NotRun {
                message: add(message),
            },
            Self::Skipped { message, failed } => Self::Skipped {
                message: add(message),
                failed,
            },
            _ => Self::WithoutRerun { message: reason },
        }
    }
}
