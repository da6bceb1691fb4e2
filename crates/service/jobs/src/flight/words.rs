//! What a flight is told and what it asks for.
//!
//! [`Status`] goes in, [`Due`] and [`Next`] come out. The rule: each says what is known, and nothing
//! of how it is sent or stored.

use std::time::Duration;

use uuid::Uuid;

/// The intervals that a flight goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    pub(crate) poll_interval: Duration,
    pub(crate) poll_limit: u32,
    pub(crate) cancel_grace: Duration,
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

/// Wait for a silent node, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Until then it is asked again.
    Lasts(Duration),
    /// The node answered, so the wait is over.
    Over,
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
