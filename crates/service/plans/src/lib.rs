//! The plan engine: every effect of a plan is written to a journal in the store, so that the plan
//! continues after a crash.
//!
//! [`Plans`] is the handle; a [`PlanProgram`] requests every [step](StepRequest) from its
//! [`PlanBranch`]. Invariants of this crate:
//! - an effect starts in the transaction that writes its step, and never twice;
//! - a plan that is evaluated again gets the same outcomes and so requests the same steps;
//!   otherwise it ends with an error that names the step;
//! - a plan that waits for long takes no thread, no stack and little memory.

mod canonical;
mod config;
mod core;
pub mod defaults;
mod divergence;
mod effects;
mod engine;
mod error;
mod forced_end;
mod handle;
mod job_effects;
mod launch;
mod machine;
mod program;
#[cfg(test)]
mod simulation;
mod step;
mod worker;

pub use config::PlansConfig;
pub use divergence::KIND_DIVERGED;
pub use effects::{JobOutcomeError, JobStartError, LocalEffect, PlanActor, PlanEffects};
pub use engine::PlanCounts;
pub use error::{PlanError, PlansLost, StartPlansError};
pub use handle::Plans;
pub use job_effects::{JobPlanEffects, NOOP_UNSUPPORTED, WRONG_PARAMETERS, task_refusal_error};
pub use launch::{PlanLaunch, PlanPreviewMode, PlanProgramSource};
pub use program::{BranchBody, BranchResult, PlanBranch, PlanFault, PlanProgram, PlanStop};
pub use step::{
    BranchId, InvalidStepId, PlanEventMessage, StepId, StepOutcome, StepRequest, StepWork,
};
