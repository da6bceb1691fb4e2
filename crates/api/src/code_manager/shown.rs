//! Deployments as clients see them.

use std::collections::HashMap;

use api_types::{
    CodeBlockers, CodeChange, CodeChanges, CodeDeploy, CodeDeployStatus, CodeDeployment,
    CodeModuleChange, ErrorBody, FileSyncCommits, Object, Timestamp,
};
use code_manager::EnvironmentName;
use code_manager::service::{Blockers, Changes, Deployment, Fault, State};

/// As `deploys` shows it; a dry run is complete when it is over, too.
pub(super) fn deploy(deployment: Deployment) -> CodeDeploy {
    let status = match deployment.state {
        State::Synced => "complete".to_owned(),
        other => other.to_string(),
    };
    let outcome = deployment.outcome.as_ref();
    let version = deployment.signature.as_ref();
    CodeDeploy {
        environment: deployment.environment.clone(),
        id: Some(deployment.id),
        deploy_signature: outcome.and_then(|it| it.control_commit.clone()),
        file_sync: version
            .filter(|_| deployment.state == State::Synced)
            .map(|version| FileSyncCommits {
                environment_commit: version.clone(),
                code_commit: version.clone(),
            }),
        error: outcome.and_then(|it| it.error.as_ref()).map(error),
        status,
        deployment: Some(whole(deployment)),
    }
}

/// One that was only just written down.
pub(super) fn queued((environment, id): (EnvironmentName, i64)) -> CodeDeploy {
    CodeDeploy {
        id: Some(id),
        ..begun(environment.as_str(), "queued")
    }
}

/// One that was refused.
pub(super) fn refused(environment: &str, error: ErrorBody) -> CodeDeploy {
    CodeDeploy {
        error: Some(error),
        ..begun(environment, "failed")
    }
}

fn begun(environment: &str, status: &str) -> CodeDeploy {
    CodeDeploy {
        environment: environment.to_owned(),
        id: None,
        status: status.to_owned(),
        deploy_signature: None,
        file_sync: None,
        error: None,
        deployment: None,
    }
}

/// As `deploys/status` shows it.
pub(super) fn status(deployment: Deployment, waiting: &HashMap<i64, Blockers>) -> CodeDeployStatus {
    CodeDeployStatus {
        waiting_for: waiting.get(&deployment.id).map(|blockers| CodeBlockers {
            plans: blockers.plans.clone(),
            deployments: blockers.deployments.clone(),
        }),
        id: deployment.id,
        environment: deployment.environment,
        status: deployment.state.to_string(),
        queued_at: Timestamp::from_ms(deployment.queued_ms),
        error: deployment
            .outcome
            .and_then(|it| it.error)
            .as_ref()
            .map(error),
    }
}

/// As the history shows it.
pub(super) fn whole(deployment: Deployment) -> CodeDeployment {
    let outcome = deployment.outcome.unwrap_or_default();
    CodeDeployment {
        id: deployment.id,
        environment: deployment.environment,
        action: deployment.action,
        dry_run: deployment.dry_run,
        state: deployment.state.to_string(),
        owner: deployment.by.owner,
        reason: deployment.by.reason,
        queued_timestamp: Timestamp::from_ms(deployment.queued_ms),
        started_timestamp: deployment.started_ms.map(Timestamp::from_ms),
        finished_timestamp: deployment.finished_ms.map(Timestamp::from_ms),
        served_by: deployment.served_by,
        version: deployment.signature,
        version_before: deployment.before,
        control_commit: outcome.control_commit,
        modules: outcome.modules,
        changes: outcome.changes.map(changes),
        notes: outcome.notes,
        error: outcome.error.as_ref().map(error),
    }
}

pub(super) fn changes(changes: Changes) -> CodeChanges {
    let modules = changes.modules.into_iter().map(|module| CodeModuleChange {
        directory: module.directory,
        from: module.version.from,
        to: module.version.to,
    });
    CodeChanges {
        control: changes.control.map(|change| CodeChange {
            from: change.from,
            to: change.to,
        }),
        modules: modules.collect(),
    }
}

pub(super) fn error(fault: &Fault) -> ErrorBody {
    ErrorBody {
        kind: fault.kind.clone(),
        msg: fault.msg.clone(),
        details: Object::new(),
    }
}
