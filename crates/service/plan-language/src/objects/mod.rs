//! The objects that plan functions take and return: targets, results, futures.
//!
//! Invariant: an object says of itself only what it is made of; what changes during a plan
//! (variables, facts of a target; whether a future is done) is asked of the host.

mod future;
mod result;
mod result_set;
mod target;
mod unknown;

pub(crate) use future::PlanFuture;
pub(crate) use result::TaskResult;
pub(crate) use result_set::ResultSet;
pub(crate) use target::PlanTarget;
pub(crate) use unknown::{PreviewStepNumbers, UnknownResult, step_names, steps_in, steps_in_all};
