//! Rows of the steps of plans, as read and as written: [`PlanStepRow`], [`NewPlanStep`].

use crate::JobNumber;
use crate::rows::row;
use crate::value::{ColumnError, ColumnReader, FromRow, SqlValue, ToValues};

row! {
    /// Identity of a step within its plan.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct PlanStepKey {
        /// Branch of the step: empty for the plan itself, `2.1` for the first branch of its second
        /// step.
        pub branch: String,
        /// Number of the step within the branch.
        pub step: i64,
    } read write
}

/// A person's answer that a step waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AwaitedAnswer {
    /// The step waits for no answer.
    #[default]
    NotAwaited,
    /// The step waits for an answer that may be shown.
    Plain,
    /// The step waits for an answer that is stored sealed.
    Sealed,
}

row! {
    /// A step that is not written yet.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NewPlanStep {
        /// Key of the step.
        pub key: PlanStepKey = "branch, step",
        /// Kind of the step, such as `task`, `sleep` or `time`.
        pub kind: String,
        /// Position in the plan's code.
        pub site: String,
        /// Arguments to be shown, truncated and without secrets.
        pub arguments: String,
        /// Hash of the kind and the complete arguments, in hexadecimal digits.
        pub hash: String,
        /// State: `begun`, or `done` for a step that is over at once.
        pub state: String,
        /// Position of the start among all starts and deliveries of the plan.
        pub began: i64,
        /// Position at which the outcome was delivered to the plan; `None` before.
        pub delivered: Option<i64>,
        /// End of the wait in milliseconds since 1970, if it is known.
        pub until_ms: Option<i64>,
        /// The answer of a person that the step waits for.
        pub asks: AwaitedAnswer,
        /// Outcome of the step as JSON; `None` if it has none.
        pub outcome: Option<String>,
        /// Time of the start in milliseconds since 1970.
        pub begun_ms: i64,
    } read write columns step_columns
}

row! {
    /// The end of a step.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlanStepEnd {
        /// Key of the step.
        pub key: PlanStepKey,
        /// Last state: `done`, `failed` or `dropped`.
        pub state: String,
        /// Position at which the outcome is delivered to the plan; `None` if it is not.
        pub delivered: Option<i64>,
        /// Outcome as JSON; `None` keeps the stored one.
        pub outcome: Option<String>,
        /// Time of the end in milliseconds since 1970.
        pub ended_ms: i64,
    } write
}

row! {
    /// A stored step of a plan.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PlanStepRow {
        /// Number of the plan job.
        pub plan_job: i64,
        /// The step as it was started, with its current state and outcome.
        pub step: NewPlanStep = step_columns!(),
        /// The job that the step started.
        pub job: Option<JobNumber>,
        /// The secret outcome, sealed; `None` if it has none.
        pub sealed: Option<Vec<u8>>,
        /// Time of the end in milliseconds since 1970; `None` before.
        pub ended_ms: Option<i64>,
    } read select steps from "plan_journal"
}

#[expect(
    clippy::single_component_path_imports,
    reason = "they are macros, made by `row!`"
)]
pub(crate) use {step_columns, steps};

// === impl AwaitedAnswer ===

impl AwaitedAnswer {
    fn to_column(self) -> i64 {
        match self {
            Self::NotAwaited => 0,
            Self::Plain => 1,
            Self::Sealed => 2,
        }
    }

    fn from_column(column: i64) -> Self {
        match column {
            0 => Self::NotAwaited,
            1 => Self::Plain,
            _ => Self::Sealed,
        }
    }
}

impl FromRow for AwaitedAnswer {
    fn read(columns: &mut ColumnReader<'_>) -> Result<Self, ColumnError> {
        i64::read(columns).map(Self::from_column)
    }
}

impl<'a> ToValues<'a> for &AwaitedAnswer {
    fn add_to(self, values: &mut Vec<SqlValue<'a>>) {
        self.to_column().add_to(values);
    }
}
