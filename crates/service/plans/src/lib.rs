//! Plans that survive: programs whose every effect goes through a journal in the store, and which go on
//! after a crash at the step where they were.
//!
//! [`PlanWorkerThread`] is the handle; a [`PlanProgram`] asks its [`Branch`] for every [step](StepRequest). The rules
//! that all of this crate serves:
//! - an effect is begun in the transaction that writes it down, and never twice;
//! - what a plan has seen, it sees again when it is evaluated anew, so it comes to the same steps; if it
//!   does not, it is stopped and says where;
//! - a plan that waits for long costs no thread, no stack and little memory.

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
pub use effects::{
    JobOutcomeError, JobStartError, LocalEffect, PlanActor, PlanEffects, PlanStepJob,
};
pub use engine::PlanCounts;
pub use error::{PlanError, PlansLost, StartPlansError};
pub use handle::Plans;
pub use job_effects::{JobPlanEffects, NOOP_UNSUPPORTED, WRONG_PARAMETERS, task_refusal_error};
pub use launch::{PlanLaunch, PlanPreviewMode, PlanProgramSource};
pub use program::{BranchBody, BranchResult, PlanBranch, PlanFault, PlanProgram, PlanStop};
pub use step::{
    BranchId, InvalidStepId, PlanEventMessage, StepId, StepOutcome, StepRequest, StepWork,
};
