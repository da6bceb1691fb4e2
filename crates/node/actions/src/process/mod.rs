//! Processes of actions: start, supervision, record and end.
//!
//! The agent never runs an action as its own child. It starts a [wrapper](wrapper_main) (its own
//! executable again), which is the parent and subreaper of the action, writes its output to the
//! spool and its end to an [`ExitRecord`]. Invariant: the wrapper depends on nothing but the spool
//! entry, so an action goes on and is recorded whatever happens to the agent.

mod attend;
mod ending;
mod exit_record;
mod identity;
mod launch;
mod layout;
mod loss;
mod order;
mod output_limit;
mod program;
mod readable;
mod tree;
mod user;
mod wrapper;

pub(crate) use attend::{ATTENDANT, attend_main};
pub(crate) use exit_record::ExitRecord;
pub(crate) use identity::{ProcessIdentity, boot_id};
pub(crate) use launch::{LaunchError, Supervised};
pub(crate) use layout::{LaidOutFile, copy_hashed};
pub(crate) use loss::Loss;
pub(crate) use order::RunOrder;
pub(crate) use output_limit::OutputLimit;
pub(crate) use readable::readable;
pub(crate) use user::{Account, BECOME, Held, Private, become_main};
pub(crate) use wrapper::wrapper_main;
