//! Steps: every effect of a plan and every input from outside.
//!
//! A [`StepRequest`] is the request of a program, a [`StepId`] its key in the journal, a
//! [`StepOutcome`] the answer. Invariant: a request's `arguments` contain no secret, and
//! distinguish it from every other request that could occur at the same step.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use jobs::JobSpec;
use partial_debug::partial_debug;
use serde_json::{Value, json};

use crate::effects::LocalEffect;

/// The id of a branch of a plan: the plan itself (empty), or a part that runs in parallel. `2.1` is
/// the first branch of the plan's second branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchId(Vec<u32>);

/// The id of a step: `2.1.7` is the seventh step of branch `2.1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId {
    /// The branch that takes the step.
    pub branch: BranchId,
    /// Number of the step in its branch, from 1.
    pub number: u32,
}

/// The text is not a valid step id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a step's name: write numbers with dots between them, as the events show it")]
pub struct InvalidStepId(String);

/// A program's request of a step.
pub struct StepRequest {
    /// Kind of the step: `task`, `sleep`, `time`, …
    pub kind: Cow<'static, str>,
    /// Position in the plan's code, for users; the same in each evaluation.
    pub site: String,
    /// The arguments of the request, without secrets.
    pub arguments: Value,
    /// The way in which the step is performed.
    pub work: StepWork,
}

/// The way in which a step is performed.
pub enum StepWork {
    /// Computes a value at once, such as the time or a random number. Repeated after a crash only
    /// if the outcome was not stored.
    Compute(Box<dyn FnOnce() -> StepOutcome>),
    /// Adds a message to the events of the plan job.
    RecordEvent(PlanEventMessage),
    /// Waits for a time.
    Sleep(Duration),
    /// Waits for the answer of a user. Clients show the message and read the details: `sensitive:
    /// true` hides the input and seals the answer; `menu` (an object of keys and texts) allows only
    /// its keys; `default` is used for an empty answer; `approval: true` expects true or false.
    Ask(PlanEventMessage),
    /// Runs a job on nodes.
    Run(Box<JobSpec>),
    /// Performs an effect on the server.
    RunLocalEffect(Arc<dyn LocalEffect>),
}

/// A message in the events of the plan job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEventMessage {
    /// Kind of the event: `out_message`, `plan_start`, …
    pub kind: String,
    /// Structured details, for programs.
    pub details: serde_json::Map<String, Value>,
    /// Free text, for users.
    pub message: String,
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepOutcome {
    /// True for success. A resumed plan begins again at a failed step.
    pub ok: bool,
    /// The value that the program receives.
    pub value: Arc<Value>,
}

// === impl BranchId ===

impl BranchId {
    /// Returns the id of the plan itself.
    pub fn root() -> Self {
        Self::default()
    }

    pub(crate) fn child(&self, number: u32) -> Self {
        let mut path = self.0.clone();
        path.push(number);
        Self(path)
    }

    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }

    /// Returns true if this is `other` or a branch below it.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }
}

impl fmt::Display for BranchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{number}")?;
        }
        Ok(())
    }
}

impl FromStr for BranchId {
    type Err = InvalidStepId;

    fn from_str(text: &str) -> Result<Self, InvalidStepId> {
        if text.is_empty() {
            return Ok(Self::root());
        }
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        numbers
            .map(Self)
            .map_err(|_| InvalidStepId(text.to_owned()))
    }
}

// === impl StepId ===

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { branch, number } = self;
        let dot = if branch.depth() == 0 { "" } else { "." };
        write!(f, "{branch}{dot}{number}")
    }
}

impl FromStr for StepId {
    type Err = InvalidStepId;

    fn from_str(text: &str) -> Result<Self, InvalidStepId> {
        let mut branch: BranchId = text.parse()?;
        let number = branch.0.pop();
        let number = number.ok_or_else(|| InvalidStepId(text.to_owned()))?;
        Ok(Self { branch, number })
    }
}

// === impl StepWork ===

impl StepWork {
    /// Returns true if the step is answered without suspending the branch.
    pub(crate) fn is_inline(&self) -> bool {
        matches!(self, Self::Compute(_) | Self::RecordEvent(_))
    }
}

// === impl StepOutcome ===

impl StepOutcome {
    /// Creates the outcome of a success.
    pub fn ok(value: Value) -> Self {
        let value = Arc::new(value);
        Self { ok: true, value }
    }

    /// Creates the outcome of a failure.
    pub fn failed(value: Value) -> Self {
        let value = Arc::new(value);
        Self { ok: false, value }
    }

    /// Creates the outcome of a failure with this kind and message.
    pub fn error(kind: &str, msg: &str) -> Self {
        Self::failed(json!({"kind": kind, "msg": msg, "details": {}}))
    }
}

/// Shows only the kind.
impl fmt::Debug for StepWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Compute(_) => "Here",
            Self::RecordEvent(_) => "Tell",
            Self::Sleep(_) => "Sleep",
            Self::Ask(_) => "Ask",
            Self::Run(_) => "Run",
            Self::RunLocalEffect(_) => "Do",
        })
    }
}

// Omits the work, which may contain secrets.
partial_debug!(StepRequest {
    kind,
    site,
    arguments
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_steps_are_read_as_they_are_written() {
        for text in ["1", "7", "2.1", "2.1.7"] {
            assert_eq!(text.parse::<StepId>().unwrap().to_string(), text);
        }
        assert_eq!("".parse::<BranchId>(), Ok(BranchId::root()));
        for text in ["", ".", "1.", ".1", "a", "1.-1", "99999999999"] {
            assert!(text.parse::<StepId>().is_err(), "{text:?}");
        }
    }
}
