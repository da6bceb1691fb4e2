//! Plans that survive: programs whose every effect goes through a journal in the store, and which go on
//! after a crash at the step where they were.
//!
//! [`Plans`] is the handle; a [`Program`] asks its [`Branch`] for every [step](StepRequest). The rules
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
mod ending;
mod engine;
mod error;
mod handle;
mod launch;
mod machine;
mod over_jobs;
mod program;
#[cfg(test)]
mod simulation;
mod step;
mod worker;

pub use config::PlansConfig;
pub use divergence::KIND_DIVERGED;
pub use effects::{Actor, Deed, Effects, NotKnown, NotStarted, Order};
pub use engine::Counts;
pub use error::{PlanError, PlansLost, StartPlansError};
pub use handle::Plans;
pub use launch::{Launch, Preview, Programs};
pub use over_jobs::{NOOP_UNSUPPORTED, OverJobs, WRONG_PARAMETERS, refused_task};
pub use program::{Body, Branch, Ended, Fault, Program, Stop};
pub use step::{BranchId, InvalidStepId, Outcome, StepId, StepRequest, Told, Work};
