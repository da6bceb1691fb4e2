//! Processes of actions: start, supervision, record and end.
//!
//! The agent never runs an action as its own child. It starts a [wrapper](wrapper_main) (its own
//! executable again), which is the parent and subreaper of the action, writes its output to the
//! spool and its end to an [`ExitRecord`]. Invariant: the wrapper depends on nothing but the spool
//! entry, so an action goes on and is recorded whatever happens to the agent.

mod attendant;
mod exit_record;
mod identity;
mod launch;
mod layout;
mod output_limit;
mod output_loss;
mod program;
mod readable;
mod termination;
mod tree;
mod user;
mod wrapper;
mod wrapper_request;

pub(crate) use attendant::{ATTENDANT, attend_main};
pub(crate) use exit_record::ExitRecord;
pub(crate) use identity::{ProcessIdentity, ProcessStat, boot_id};
pub(crate) use launch::{LaunchError, SupervisedAction};
pub(crate) use layout::{LaidOutFile, copy_hashed};
pub(crate) use output_limit::OutputLimit;
pub(crate) use output_loss::OutputLoss;
pub(crate) use readable::to_async_fd;
pub(crate) use user::{BECOME, LocalAccount, PrivateDirectory, PrivateDirectoryGuard, become_main};
pub(crate) use wrapper::wrapper_main;
pub(crate) use wrapper_request::WrapperRequest;
