//! The live environments that a push to a repository affects.

use std::sync::Arc;

use code_deployments::service::DeploymentAction;
use code_sources::source::{EnvironmentSource, SourceKind};
use forges::incoming_webhooks::{ForgeKind, PushedRepository, environments_from_branches};
use serde_json::json;

use crate::service::{DEPLOY, Service};
use crate::world::name;

fn repository(address: &str) -> PushedRepository {
    let body = json!({"repository": {"name": "control", "clone_url": address}});
    ForgeKind::GitHub
        .repository(body.to_string().as_bytes())
        .unwrap()
}

#[tokio::test]
async fn environments_of_lists_are_found_by_what_they_are_made_of() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("environments.yaml");
    let kind = SourceKind::Yaml {
        config: config.clone(),
    };
    let list = EnvironmentSource {
        kind,
        ..EnvironmentSource::new("list", "")
    };
    let list = Arc::new(list);
    let service = Service::with(move |settings| settings.sources.push(Arc::clone(&list))).await;
    let other = service.world.module("other");
    other.write("site.pp", "").commit();
    let text = format!(
        "listed: {{type: git, remote: '{0}', ref: production}}\nfixed: {{type: git, remote: '{0}', ref: {1}}}\n",
        other.address(),
        other.git(&["rev-parse", "HEAD"]),
    );
    std::fs::write(&config, text).unwrap();
    let at = async |address: String, branch: &str| {
        let branches = vec![branch.to_owned()];
        let versions = service.manager.versions();
        let found = environments_from_branches(versions, repository(&address), branches);
        found.await.unwrap()
    };
    assert_eq!(at(other.address(), "production").await, []);
    for environment in ["production", "listed", "fixed"] {
        let done = service.act(environment, DEPLOY).await;
        assert_eq!(done.outcome.unwrap().error, None, "{environment}");
    }
    assert_eq!(at(other.address(), "production").await, [name("listed")]);
    assert_eq!(at(other.address(), "main").await, []);
    let control = service.world.control().address();
    assert_eq!(
        at(control.clone(), "production").await,
        [name("production")]
    );
    assert_eq!(at("/elsewhere".to_owned(), "production").await, []);

    let signature = service
        .manager
        .versions()
        .live_version(&name("listed"))
        .unwrap();
    let from = name("listed");
    let promoted = service.act("production", DeploymentAction::Promote { from, signature });
    assert_eq!(promoted.await.outcome.unwrap().error, None);
    let found = at(other.address(), "production").await;
    assert_eq!(found, [name("listed")], "production has it from elsewhere");
}
