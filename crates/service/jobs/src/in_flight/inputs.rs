//! Inputs and outputs of a flight, the state of one run in progress.
//!
//! [`AgentStatus`] goes in, [`TickStep`] and [`StatusStep`] come out. Invariant: each states known facts,
//! independent of transport and storage.

use std::time::Duration;

use uuid::Uuid;

/// The intervals that a flight uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PollSettings {
    pub(crate) poll_interval: Duration,
    pub(crate) poll_limit: u32,
    pub(crate) cancel_grace: Duration,
}

/// An agent with the node's certname that does not have the spool which the run was marked for: the
/// node was set up anew, or two agents share a certname.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnexpectedAgent {
    /// The spool that the run was marked for.
    pub(crate) expected: Uuid,
    /// The spool of the other agent; `None` for a stock agent, which has no spool id.
    pub(crate) found: Option<Uuid>,
}

/// Reason that an action is being cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelReason {
    Timeout,
    Stop,
}

/// The next step that a tick requires.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TickStep {
    Nothing,
    /// Send the request: nothing was sent at the last attempt.
    Retry,
    /// Send a status query to the agent.
    Query,
    /// Send a cancel request to the agent.
    Cancel,
    /// The run reached its timeout and the agent cannot be reached.
    TimedOut,
    /// The agent was asked to cancel and did not report in time.
    CancelUnanswered(CancelReason),
    /// The node stayed silent through `asked` polls.
    Silent {
        asked: u32,
    },
    /// As `Silent`; only another agent answered.
    UnexpectedAgent(UnexpectedAgent),
}

/// Wait for a silent node, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SilenceWait {
    /// The wait lasts until this time; the node is queried meanwhile.
    Lasts(Duration),
    /// The node answered, so the wait is over.
    Over,
}

/// An agent's answer to a status query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentStatus {
    Running,
    /// The agent has the outcome.
    Ended,
    Unknown {
        spool_id: Option<Uuid>,
    },
}

/// The step that follows from a status answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusStep {
    Wait,
    Record,
    Resend,
    /// The outcome cannot be determined.
    Unknown(UnknownReason),
}

/// Reason that an agent's `unknown` does not prove that it never got the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownReason {
    /// The agent has no spool id.
    NoSpoolId,
    /// The agent had confirmed the request before.
    Forgotten,
    /// Only an agent with another spool than at dispatch has answered.
    OtherAgent(UnexpectedAgent),
    /// The agent's spool may have been purged since.
    TooLongAgo,
    /// The request was already sent again as often as [`crate::defaults::RESEND_LIMIT`] allows.
    ResentOften,
    /// The request went over SSH, and the process that watched it is gone.
    OverSsh,
}
