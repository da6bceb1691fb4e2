//! `POST command/multi_pass`: Puppet runs of nodes that wait for each other, pass by pass.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ApiError, DeployCommand};

/// The name under which the plan jobs of `command/multi_pass` are shown. No environment has a plan of this name, since a
/// colon is missing.
pub const MULTI_PASS_PLAN: &str = "puppet:multi-pass";

/// Kind of the error of a plan in whose passes nodes did not succeed.
pub const PASSES_FAILED: &str = "tutti/passes-failed";

/// Body of `POST command/multi_pass`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MultiPassCommand {
    /// The runs, as in `POST command/deploy`. Its limits are those of each pass.
    pub deploy: DeployCommand,
}

// === impl MultiPassCommand ===

impl MultiPassCommand {
    /// Checks the limits that the types do not express.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        self.check_at("deploy")
    }

    /// Checks a command whose runs have this path in the request.
    pub(crate) fn check_at(&self, place: &str) -> Result<(), ApiError> {
        self.deploy.check()?;
        let checked = check_passes(&self.deploy);
        checked.map_err(|what| ApiError::invalid(place, format!("passes contradict {what}")))
    }
}

/// Checks that the runs can be those of passes.
///
/// # Errors
/// The option that prevents it, with the reason.
pub fn check_passes(deploy: &DeployCommand) -> Result<(), &'static str> {
    if deploy.environment.is_empty() {
        return Err("an empty environment: its applications order the nodes; name one");
    }
    if deploy.quarantine {
        return Err(
            "quarantine: a node that is skipped because of an earlier pass would be free; leave it out",
        );
    }
    if deploy.splay.is_some() {
        return Err("splay: each pass would take all of that time; leave it out");
    }
    if deploy.use_cached_catalog {
        return Err("use_cached_catalog: a pass needs catalogs of its own; leave it out");
    }
    if deploy.usecacheonfailure == Some(true) {
        return Err(
            "usecacheonfailure: a run with an earlier catalog would count as a success; leave it out",
        );
    }
    Ok(())
}
