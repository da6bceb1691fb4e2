//! Deployments in the form of the API.

use std::collections::HashMap;

use api_types::{CodeBlockers, CodeDeploy, CodeDeployStatus, ErrorBody, Timestamp};
use code_deployments::CodeManager;
use code_deployments::service::{Deployment, DeploymentState, HoldBlockers};
use environments::EnvironmentName;

/// A deployment in the form of `deploys`.
pub(super) fn deploy(manager: &CodeManager, deployment: Deployment) -> CodeDeploy {
    let late_followers = manager.late_followers(&deployment);
    deployment.into_code_deploy(late_followers)
}

/// A deployment that was queued just now.
pub(super) fn queued_reply((environment, id): (EnvironmentName, i64)) -> CodeDeploy {
    CodeDeploy {
        id: Some(id),
        ..started_reply(environment.as_str(), "queued")
    }
}

/// A deployment that was refused.
pub(super) fn refused_reply(environment: &str, error: ErrorBody) -> CodeDeploy {
    CodeDeploy {
        error: Some(error),
        ..started_reply(environment, "failed")
    }
}

fn started_reply(environment: &str, status: &str) -> CodeDeploy {
    CodeDeploy {
        environment: environment.to_owned(),
        id: None,
        status: status.to_owned(),
        deploy_signature: None,
        file_sync: None,
        late_followers: Vec::new(),
        error: None,
        deployment: None,
    }
}

/// A deployment in the form of `deploys/status`.
pub(super) fn status(
    manager: &CodeManager,
    deployment: Deployment,
    waiting: &HashMap<i64, HoldBlockers>,
) -> CodeDeployStatus {
    let late = manager.late_followers(&deployment);
    let state = match deployment.state {
        DeploymentState::Synced if !late.is_empty() => DeploymentState::Syncing,
        state => state,
    };
    CodeDeployStatus {
        error: deployment.to_error_body(&late),
        waiting_for: waiting.get(&deployment.id).map(|blockers| CodeBlockers {
            plans: blockers.plans.clone(),
            jobs: blockers.jobs.clone(),
            deployments: blockers.deployments.clone(),
        }),
        id: deployment.id,
        environment: deployment.environment,
        status: state.to_string(),
        queued_at: Timestamp::from_ms(deployment.queued_ms),
    }
}
