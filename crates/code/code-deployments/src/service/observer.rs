//! Who is told of deployments beside those who asked for them: [`DeploymentObserver`].
//!
//! The rule that must hold: an observer may delay a deployment, by what its own module names, and never makes it
//! fail. It is told again if the server ends before the deployment's end is written down.

use std::fmt;

use api_types::CodeDeploy;
use async_trait::async_trait;
use environments::EnvironmentName;

use super::record::State;

/// A forge, or a program that wants to know.
#[async_trait]
pub trait DeploymentObserver: fmt::Debug + Send + Sync {
    /// The version of a commit begins to be made.
    async fn begun(&self, _environment: &EnvironmentName, _made_of: &DeployedCommit) {}

    /// A deployment is over; its end is written down after this. What did not work is for its record.
    async fn over(&self, over: &FinishedDeployment) -> Vec<String>;
}

/// What an environment is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeployedCommit {
    /// The name of its source.
    pub source: String,
    /// The source's address.
    pub remote: String,
    /// What its branch is at.
    pub commit: String,
}

/// A deployment that is over.
#[derive(Clone, Debug)]
pub struct FinishedDeployment {
    /// As `deploys` answers it.
    pub deploy: CodeDeploy,
    /// What it is made of, if it came to that.
    pub made_of: Option<DeployedCommit>,
    /// Whether only a dry run was asked for.
    pub is_dry: bool,
}

impl FinishedDeployment {
    /// Whether what was asked for is live, here at least.
    pub fn is_done(&self) -> bool {
        self.deploy.status != State::Failed.to_string()
    }
}
