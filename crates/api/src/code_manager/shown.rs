//! Deployments as clients see them.

use std::collections::HashMap;

use api_types::{
    CodeBlockers, CodeChange, CodeChanges, CodeDeploy, CodeDeployStatus, CodeDeployment,
    CodeModuleChange, ErrorBody, FileSyncCommits, LateFollower, Object, Timestamp, kinds,
};
use code_manager::service::{Blockers, Changes, Deployment, Fault, State};
use code_manager::{CodeManager, EnvironmentName};

/// As `deploys` shows it; a dry run is complete when it is over, too. It is still syncing where followers do
/// not have it.
pub(super) fn deploy(manager: &CodeManager, deployment: Deployment) -> CodeDeploy {
    let late_followers = manager.late(&deployment);
    let status = match deployment.state {
        State::Synced if !late_followers.is_empty() => State::Syncing.to_string(),
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
                code_commit: outcome
                    .and_then(|it| it.code_commit.as_ref())
                    .unwrap_or(version)
                    .clone(),
            }),
        error: outcome
            .and_then(|it| it.error.as_ref())
            .map(error)
            .or_else(|| not_synced(&late_followers)),
        late_followers,
        status,
        deployment: Some(whole(deployment)),
    }
}

/// Who does not have it, as Code Manager says that its sync took too long.
fn not_synced(late: &[LateFollower]) -> Option<ErrorBody> {
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
        late_followers: Vec::new(),
        error: None,
        deployment: None,
    }
}

/// As `deploys/status` shows it.
pub(super) fn status(
    manager: &CodeManager,
    deployment: Deployment,
    waiting: &HashMap<i64, Blockers>,
) -> CodeDeployStatus {
    let late = manager.late(&deployment);
    let state = match deployment.state {
        State::Synced if !late.is_empty() => State::Syncing,
        state => state,
    };
    CodeDeployStatus {
        waiting_for: waiting.get(&deployment.id).map(|blockers| CodeBlockers {
            plans: blockers.plans.clone(),
            deployments: blockers.deployments.clone(),
        }),
        id: deployment.id,
        environment: deployment.environment,
        status: state.to_string(),
        queued_at: Timestamp::from_ms(deployment.queued_ms),
        error: deployment
            .outcome
            .and_then(|it| it.error)
            .as_ref()
            .map(error)
            .or_else(|| not_synced(&late)),
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
