//! On-demand Puppet runs: what differs from tasks.
//!
//! [`DeployRequest`] is what is asked, [`PuppetFlags`] how Puppet is to run, `said` what an agent told
//! of it, and `outcome` the shape of what came out. Invariant: everything else (commits, requests, at most once, recovery, stops) is the
//! engine's, the same as for tasks.

mod flags;
mod outcome;
mod prepare;
mod request;
pub(crate) mod said;
mod stock_errors;
mod version;

pub use flags::{FlagProblem, PuppetFlags};
pub(crate) use outcome::held_back;
pub use request::{DeployError, DeployRequest, RunCode};
pub(crate) use version::OLDEST;

/// The PXP module that runs Puppet, by the name of the stock agent's file.
pub(crate) const MODULE: &str = "pxp-module-puppet";
/// Its action.
pub(crate) const ACTION: &str = "run";
