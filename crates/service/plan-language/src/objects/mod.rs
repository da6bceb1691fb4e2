//! The objects that plan functions take and return: targets, results, futures.
//!
//! Invariant: an object holds only what it was created with; state that changes during a plan
//! (variables and facts of a target, the state of a future) is read from the host.

mod from_rich;
mod future;
mod resource_instance;
mod result;
mod result_set;
mod target;
mod unknown;
mod unknown_steps;

pub use from_rich::plan_value_from_rich_json;
pub(crate) use future::PlanFuture;
pub(crate) use resource_instance::{PlanResource, type_name_of};
pub(crate) use result::TaskResult;
pub(crate) use result_set::ResultSet;
pub(crate) use target::PlanTarget;
pub(crate) use unknown::{PreviewStepNumbers, UnknownResult, step_names};
pub(crate) use unknown_steps::{steps_in, steps_in_all};
