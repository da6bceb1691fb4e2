//! Observers of deployments, other than their requesters: [`DeploymentObserver`].
//!
//! Invariant: an observer may delay a deployment, up to the limit that its own module names, and
//! never makes it fail. It is notified again if the server stops before the deployment's end is
//! stored.

use std::fmt;

use api_types::CodeDeploy;
use async_trait::async_trait;
use environments::EnvironmentName;

use super::deployment_record::DeploymentState;

/// A receiver of the beginning and end of deployments: a forge or another program.
#[async_trait]
pub trait DeploymentObserver: fmt::Debug + Send + Sync {
    /// Called when building the version of a commit begins.
    async fn deployment_began(&self, _environment: &EnvironmentName, _made_of: &DeployedCommit) {}

    /// Called when a deployment is over, before its end is stored. The returned errors go into its
    /// record.
    async fn deployment_finished(&self, over: &FinishedDeployment) -> Vec<String>;
}

/// The commit of the control repository from which an environment is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedCommit {
    /// Name of the source, as in the settings.
    pub source: String,
    /// Address of the source's repository.
    pub remote: String,
    /// Commit to which the branch points.
    pub commit: String,
}

/// A deployment that is over.
#[derive(Clone, Debug)]
pub struct FinishedDeployment {
    /// The result, as `deploys` returns it.
    pub deploy: CodeDeploy,
    /// The deployed commit; `None` if the deployment ended before it was known.
    pub deployed_commit: Option<DeployedCommit>,
    /// True if only a dry run was requested.
    pub is_dry: bool,
}

impl FinishedDeployment {
    /// True if the requested version is live, at least on this server.
    pub fn is_live(&self) -> bool {
        self.deploy.status != DeploymentState::Failed.to_string()
    }
}
