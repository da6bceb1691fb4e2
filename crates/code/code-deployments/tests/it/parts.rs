//! Deployments of some modules, or of only the control repository, through the service.

use code_deployments::CodeManager;
use code_deployments::service::{Deployment, DeploymentAction, DeploymentState};
use code_store::version::VersionSignature;

use crate::service::{DEPLOY, Service};
use crate::world::name;

fn modules(names: &[&str]) -> DeploymentAction {
    DeploymentAction::Modules {
        names: names.iter().map(|&name| name.to_owned()).collect(),
        dry_run: false,
    }
}

const CONTROL: DeploymentAction = DeploymentAction::Control { dry_run: false };

/// Creates production with two modules; all repositories have newer commits.
async fn service() -> Service {
    let service = Box::pin(Service::with(|_| {})).await;
    service.world.module("ntp").write("VERSION", "1").commit();
    service.world.puppetfile(
        "mod 'puppetlabs/apt', git: 'DIR/apt', branch: 'production'\n\
         mod 'ntp', git: 'DIR/ntp', branch: 'production'",
    );
    let first = service.act("production", DEPLOY).await;
    assert_eq!(first.state, DeploymentState::Synced, "{:?}", first.outcome);
    for repository in ["apt", "ntp", "control"] {
        service.world.at(repository).write("VERSION", "2").commit();
    }
    service
}

fn versions(service: &Service, environment: &str) -> [Option<String>; 3] {
    let files = service.world.files(environment);
    ["modules/apt/VERSION", "modules/ntp/VERSION", "VERSION"].map(|path| files.get(path).cloned())
}

fn some(apt: &str, ntp: &str, control: Option<&str>) -> [Option<String>; 3] {
    [Some(apt), Some(ntp), control].map(|it| it.map(str::to_owned))
}

fn live(manager: &CodeManager) -> Option<VersionSignature> {
    manager.versions().live_version(&name("production"))
}

fn error(deployment: &Deployment) -> &str {
    let outcome = deployment.outcome.as_ref().unwrap();
    &outcome.error.as_ref().unwrap().msg
}

#[tokio::test]
async fn modules_alone() {
    let service = service().await;
    let done = service.act("production", modules(&["apt"])).await;
    assert_eq!(
        (done.state, &*done.action),
        (DeploymentState::Synced, "modules")
    );
    assert_eq!(versions(&service, "production"), some("2", "1", None));
    let changes = done.outcome.unwrap().changes.unwrap();
    assert_eq!((changes.control, changes.modules.len()), (None, 1));
    // The next whole deployment deploys everything.
    service.act("production", DEPLOY).await;
    assert_eq!(versions(&service, "production"), some("2", "2", Some("2")));
}

#[tokio::test]
async fn a_module_that_is_not_there_is_told_with_those_that_are() {
    let service = service().await;
    let before = live(&service.manager);
    for wrong in [
        &["nginx"][..],
        &["apt", "nginx"],
        &["../apt"],
        &["other-apt"],
    ] {
        let refused = service.act("production", modules(wrong)).await;
        assert_eq!(refused.state, DeploymentState::Failed);
        let named = wrong.last().unwrap();
        let said = format!("production has no module {named}; it has puppetlabs/apt, ntp");
        let other = format!("production has no module {named}; it has ntp, puppetlabs/apt");
        assert!(
            [said, other].contains(&error(&refused).to_owned()),
            "{refused:?}"
        );
    }
    assert_eq!(live(&service.manager), before);
}

#[tokio::test]
async fn the_control_repository_alone() {
    let service = service().await;
    // The modules of the new Puppetfile do not count, not even an additional one.
    service.world.module("new").write("VERSION", "1").commit();
    service.world.puppetfile(
        "mod 'puppetlabs/apt', git: 'DIR/apt', branch: 'production'\n\
         mod 'new', git: 'DIR/new', branch: 'production'",
    );
    let done = service.act("production", CONTROL).await;
    assert_eq!(done.state, DeploymentState::Synced, "{:?}", done.outcome);
    assert_eq!(versions(&service, "production"), some("1", "1", Some("2")));
    let files = service.world.files("production");
    assert!(files["Puppetfile"].contains("new") && !files.contains_key("modules/new/VERSION"));
    // The live Puppetfile no longer names ntp.
    service.world.at("control").write("VERSION", "3").commit();
    let refused = service.act("production", CONTROL).await;
    assert!(
        error(&refused).contains("deploy the whole environment"),
        "{refused:?}"
    );
    service.act("production", DEPLOY).await;
    let files = service.world.files("production");
    assert!(files.contains_key("modules/new/VERSION"));
    assert!(!files.contains_key("modules/ntp/VERSION"));
}

#[tokio::test]
async fn an_environment_that_is_not_live_gets_all() {
    let service = service().await;
    service.world.control().git(&["branch", "staging"]);
    service.world.control().git(&["branch", "testing"]);
    for (environment, action) in [("staging", CONTROL), ("testing", modules(&["apt"]))] {
        let done = service.act(environment, action).await;
        assert_eq!(done.state, DeploymentState::Synced, "{:?}", done.outcome);
        assert_eq!(versions(&service, environment), some("2", "2", Some("2")));
    }
}

#[tokio::test]
async fn a_dry_run_switches_nothing_and_all_means_those_that_have_it() {
    let service = service().await;
    let before = live(&service.manager);
    let dry = DeploymentAction::Modules {
        names: vec!["ntp".to_owned()],
        dry_run: true,
    };
    let tried = service.act("production", dry.clone()).await;
    assert_eq!(tried.state, DeploymentState::Synced);
    assert!(tried.dry_run && tried.signature.is_some());
    let tried = service
        .act("production", DeploymentAction::Control { dry_run: true })
        .await;
    assert!(tried.dry_run && tried.state == DeploymentState::Synced);
    assert_eq!(live(&service.manager), before);
    let names = |all: &[&str]| all.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    let all = |wanted: Vec<String>| {
        let manager = service.manager.clone();
        async move { manager.plan_modules(&wanted, true).await.unwrap() }
    };
    assert_eq!(
        all(names(&["ntp", "nothing"])).await,
        [(name("production"), dry)]
    );
    assert_eq!(all(names(&["nothing"])).await, []);
}
