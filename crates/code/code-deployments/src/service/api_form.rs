//! Deployments in Code Manager's form, for clients and hooks.

use api_types::{
    CodeDeploy, CodeDeployment, ErrorBody, FileSyncCommits, LateFollower, Object, Timestamp, kinds,
};

use super::deployment_record::{Deployment, DeploymentFault, DeploymentState};

impl Deployment {
    /// The form that `deploys` returns. The deployment is still syncing while followers lack the
    /// version; a finished dry run is complete, too.
    pub fn into_code_deploy(self, late_followers: Vec<LateFollower>) -> CodeDeploy {
        let status = match self.state {
            DeploymentState::Synced if !late_followers.is_empty() => {
                DeploymentState::Syncing.to_string()
            }
            DeploymentState::Synced => "complete".to_owned(),
            other => other.to_string(),
        };
        let outcome = self.outcome.as_ref();
        let version = self.signature.as_ref();
        CodeDeploy {
            environment: self.environment.clone(),
            id: Some(self.id),
            deploy_signature: outcome.and_then(|it| it.control_commit.clone()),
            file_sync: version
                .filter(|_| self.state == DeploymentState::Synced)
                .map(|version| FileSyncCommits {
                    environment_commit: version.clone(),
                    code_commit: outcome
                        .and_then(|it| it.code_commit.as_ref())
                        .unwrap_or(version)
                        .clone(),
                }),
            error: self.to_error_body(&late_followers),
            late_followers,
            status,
            deployment: Some(self.into()),
        }
    }

    /// The error of a failed deployment, or the followers that lack the version, in the form of
    /// Code Manager's error for a sync that took too long.
    pub fn to_error_body(&self, late: &[LateFollower]) -> Option<ErrorBody> {
        let outcome = self.outcome.as_ref();
        let error = outcome.and_then(|it| it.error.clone());
        error.map(Into::into).or_else(|| late_followers_error(late))
    }
}

fn late_followers_error(late: &[LateFollower]) -> Option<ErrorBody> {
    let named = late.iter().map(|it| format!("{} ({})", it.name, it.why));
    let named: Vec<String> = named.collect();
    (!late.is_empty()).then(|| ErrorBody {
        kind: kinds::DEPLOY_TIMEOUT.name.to_owned(),
        msg: format!(
            "it is live on this server, and not yet on {}; they switch when they can",
            named.join(", ")
        ),
        details: Object::new(),
    })
}

/// The form that the history returns.
impl From<Deployment> for CodeDeployment {
    fn from(deployment: Deployment) -> Self {
        let outcome = deployment.outcome.unwrap_or_default();
        Self {
            id: deployment.id,
            environment: deployment.environment,
            action: deployment.action,
            dry_run: deployment.dry_run,
            state: deployment.state.to_string(),
            owner: deployment.requester.owner,
            reason: deployment.requester.reason,
            queued_timestamp: Timestamp::from_ms(deployment.queued_ms),
            started_timestamp: deployment.started_ms.map(Timestamp::from_ms),
            finished_timestamp: deployment.finished_ms.map(Timestamp::from_ms),
            served_by: deployment.served_by,
            version: deployment.signature,
            version_before: deployment.before,
            control_commit: outcome.control_commit,
            modules: outcome.modules,
            changes: outcome.changes.map(Into::into),
            notes: outcome.notes,
            error: outcome.error.map(Into::into),
        }
    }
}

impl From<DeploymentFault> for ErrorBody {
    fn from(fault: DeploymentFault) -> Self {
        Self {
            kind: fault.kind,
            msg: fault.msg,
            details: Object::new(),
        }
    }
}
