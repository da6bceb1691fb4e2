//! On-demand Puppet runs: the differences from tasks.
//!
//! [`PuppetFlags`] are Puppet's options, `agent_result` parses the
//! agent's result, and `outcome` shapes it. Invariant: everything else (commits, requests, at most
//! once, recovery, stops) is the engine's, the same as for tasks.

pub(crate) mod agent_result;
mod catalog_code;
mod command;
mod flags;
mod outcome;
mod prepare;
mod stock_errors;
mod version;

pub use catalog_code::CatalogCode;
pub(crate) use catalog_code::PinnedCode;
pub use flags::{PuppetFlagError, PuppetFlags};
pub(crate) use outcome::{RunExpectation, describe_held_back};
pub(crate) use version::OLDEST;

/// The PXP module that runs Puppet, by the name of the stock agent's file.
pub(crate) const MODULE: &str = "pxp-module-puppet";
/// The action of that module.
pub(crate) const ACTION: &str = "run";
