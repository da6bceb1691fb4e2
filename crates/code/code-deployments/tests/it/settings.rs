//! Changes of `r10k.yaml` while a server runs.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use code_deployments::service::{
    Deployment, DeploymentAction, DeploymentState, DeploymentSubmitError, error_kinds,
};
use code_settings::{DeploymentSettings, R10kFile};

use crate::service::{DEPLOY, Service};
use crate::world::name;

const ONE: &str = "sources:\n  main: {remote: DIR/control, basedir: DIR/code/environments}\n";
const TWO: &str = "sources:
  main: {remote: DIR/control, basedir: DIR/code/environments}
  team: {remote: DIR/team, basedir: DIR/code/environments, prefix: true}
";

/// Writes a file with an old modification time, so that no reader waits for it to settle.
fn write(root: &Path, text: &str) {
    let path = root.join("r10k.yaml");
    let text = text.replace("DIR", &root.display().to_string());
    std::fs::write(&path, text).unwrap();
    let written = SystemTime::now() - Duration::from_secs(60);
    File::open(path).unwrap().set_modified(written).unwrap();
}

/// Creates a server with the file, and production live.
async fn service() -> Service {
    let service = Box::pin(Service::with(|_| {})).await;
    let root = service.world.path().to_owned();
    write(&root, ONE);
    let own = DeploymentSettings::new(root.join("deploys"), root.join("code/environments"));
    let file = R10kFile::new(root.join("r10k.yaml"), own);
    let service = Box::pin(service.reading(file)).await;
    let first = service.act("production", DEPLOY).await;
    assert_eq!(first.state, DeploymentState::Synced, "{:?}", first.outcome);
    service
}

fn said(deployment: &Deployment) -> (&str, &str) {
    let outcome = deployment.outcome.as_ref().unwrap();
    let error = outcome.error.as_ref().unwrap();
    (&error.kind, &error.msg)
}

#[tokio::test]
async fn a_source_that_is_added_is_there_at_the_next_deployment() {
    let service = service().await;
    let team = service.world.module("team");
    team.write("site.pp", "").commit();
    write(service.world.path(), TWO);
    assert_eq!(
        service
            .manager
            .environments_of_branch("production", Some("team")),
        [name("team_production")]
    );
    let ended = service.all().await;
    assert_eq!(ended.len(), 2, "{ended:#?}");
    assert!(ended.iter().all(|it| it.state == DeploymentState::Synced));
    write(service.world.path(), ONE);
    service.all().await;
    assert!(!service.world.live("team_production").exists());
    assert!(service.world.live("production").exists());
}

#[tokio::test]
async fn a_file_that_is_broken_refuses_deployments_and_changes_nothing() {
    let service = service().await;
    let first = service
        .manager
        .versions()
        .live_version(&name("production"))
        .unwrap();
    service.commit("2");
    service.act("production", DEPLOY).await;
    service.commit("3");
    write(service.world.path(), "sources:\n  main: {remote: u}\n");
    let refused = service.act("production", DEPLOY).await;
    let (kind, msg) = said(&refused);
    assert_eq!(kind, error_kinds::DEPLOY_FAILURE);
    assert!(
        msg.contains("r10k.yaml: line 2: the source main has no basedir"),
        "{msg}"
    );
    let removed = service.act("production", DeploymentAction::Remove).await;
    assert!(said(&removed).1.contains("line 2"));
    assert_eq!(service.apt("production"), "2", "what was live is live");
    let fault = service.manager.settings_fault().await.unwrap();
    assert!(fault.to_string().contains("line 2"));
    let all = service
        .manager
        .plan_all_environments(false)
        .await
        .unwrap_err();
    assert!(matches!(all, DeploymentSubmitError::Settings(_)));
    // Deployments that need no source are still performed.
    let back = DeploymentAction::Rollback { signature: first };
    let back = service.act("production", back).await;
    assert_eq!(back.state, DeploymentState::Synced, "{:?}", back.outcome);

    std::fs::remove_file(service.world.path().join("r10k.yaml")).unwrap();
    let refused = service.act("production", DEPLOY).await;
    assert!(said(&refused).1.contains("cannot read"), "{refused:?}");

    write(service.world.path(), ONE);
    assert!(service.manager.settings_fault().await.is_none());
    let mended = service.act("production", DEPLOY).await;
    assert_eq!(mended.state, DeploymentState::Synced);
    assert_eq!(service.apt("production"), "3");
}

#[tokio::test]
async fn another_basedir_needs_a_restart() {
    let service = service().await;
    write(
        service.world.path(),
        "sources:\n  main: {remote: DIR/control, basedir: DIR/elsewhere}\n",
    );
    let refused = service.act("production", DEPLOY).await;
    let (_, msg) = said(&refused);
    assert!(
        msg.contains("/elsewhere") && msg.contains("restart"),
        "{msg}"
    );
    assert!(!service.world.path().join("elsewhere").exists());
}

#[tokio::test]
async fn one_that_somebody_just_writes_is_waited_for() {
    let service = service().await;
    service.commit("2");
    let path = service.world.path().join("r10k.yaml");
    let whole = std::fs::read_to_string(&path).unwrap();
    // An incomplete file may be valid, too.
    std::fs::write(&path, whole.replace("control", "nowhere")).unwrap();
    let (deployed, ()) = tokio::join!(service.act("production", DEPLOY), async {
        tokio::task::yield_now().await;
        std::fs::write(&path, &whole).unwrap();
    });
    assert_eq!(
        deployed.state,
        DeploymentState::Synced,
        "{:?}",
        deployed.outcome
    );
    assert_eq!(service.apt("production"), "2");
}
