//! `POST command/converge`: Puppet runs that are repeated until their nodes have converged.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::defaults::{CONVERGENCE_PAUSE_SECONDS, CONVERGENCE_WAVES};
use crate::strict;
use crate::{ApiError, DeployCommand};

/// The name under which the plan jobs of `command/converge` are shown. No environment has a plan of this name, since a
/// colon is missing.
pub const CONVERGENCE_PLAN: &str = "puppet:converge";

/// Kind of the error of a plan whose nodes have not converged.
pub const NOT_CONVERGED: &str = "tutti/not-converged";

/// Body of `POST command/converge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConvergeCommand {
    /// The runs of the first wave, as in `POST command/deploy`.
    pub deploy: DeployCommand,
    /// Limits of the waves.
    #[serde(default)]
    pub limits: ConvergenceLimits,
}

/// Limits on the number of waves, and on the pauses between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConvergenceLimits {
    /// Most waves, the first one included; absent: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub max_waves: Option<u32>,
    /// Shortest pause between two waves, in seconds; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 86_400)]
    pub min_gap: Option<u64>,
    /// Longest pause that the request of a node causes, and longest wait of a wave for reruns, in seconds; absent: 1800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 86_400)]
    pub max_delay: Option<u64>,
    /// A node has converged only after a run that changed nothing.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub strict: bool,
}

// === impl ConvergeCommand ===

impl ConvergeCommand {
    /// Checks the limits that the types do not express.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        self.check_at("deploy", "limits")
    }

    /// Checks a command whose runs and limits have these paths in the request.
    pub(crate) fn check_at(&self, deploy: &str, limits: &str) -> Result<(), ApiError> {
        self.deploy.check()?;
        let repeated = self.limits.check_repeated(&self.deploy);
        repeated.map_err(|what| ApiError::invalid(deploy, format!("waves contradict {what}")))?;
        self.limits.check(limits)
    }
}

// === impl ConvergenceLimits ===

impl ConvergenceLimits {
    /// Checks that a repeated run may bring something new.
    ///
    /// # Errors
    /// The option that prevents it, with the reason.
    pub fn check_repeated(&self, deploy: &DeployCommand) -> Result<(), &'static str> {
        if deploy.noop {
            return Err("noop: no run changes anything, so that none has to follow; leave it out");
        }
        if deploy.splay.is_some() {
            return Err("splay: each wave would take all of that time; leave it out");
        }
        if deploy.use_cached_catalog {
            return Err(
                "use_cached_catalog: each run would apply the catalog of the one before; leave it out",
            );
        }
        if deploy.usecacheonfailure == Some(true) {
            return Err(
                "usecacheonfailure: a run with an earlier catalog would count as a success; leave it out",
            );
        }
        Ok(())
    }

    /// Checks the ranges of limits that have the path `place` in the request.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self, place: &str) -> Result<(), ApiError> {
        let invalid = |key: &str, what: String| ApiError::invalid(&format!("{place}.{key}"), what);
        if let Some(waves) = self.max_waves
            && !(1..=CONVERGENCE_WAVES).contains(&waves)
        {
            let what = format!("must be from 1 to {CONVERGENCE_WAVES}");
            return Err(invalid("max_waves", what));
        }
        for (key, pause) in [("min_gap", self.min_gap), ("max_delay", self.max_delay)] {
            if pause.is_some_and(|seconds| seconds > CONVERGENCE_PAUSE_SECONDS) {
                let what = format!("must be at most {CONVERGENCE_PAUSE_SECONDS} seconds (a day)");
                return Err(invalid(key, what));
            }
        }
        Ok(())
    }
}
