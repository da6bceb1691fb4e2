//! On-demand Puppet runs: the differences from tasks.
//!
//! [`DeployRequest`] is the request, [`PuppetFlags`] are Puppet's options, `said` parses the
//! agent's result, and `outcome` shapes it. Invariant: everything else (commits, requests, at most
//! once, recovery, stops) is the engine's, the same as for tasks.

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
/// The action of that module.
pub(crate) const ACTION: &str = "run";
