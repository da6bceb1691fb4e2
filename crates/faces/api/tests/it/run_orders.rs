//! Applications that name the nodes of jobs, and the order of their nodes.

use std::sync::Arc;

use async_trait::async_trait;
use environments::EnvironmentName;
use http::StatusCode;
use jobs::{
    ApplicationComponent, ApplicationGraphError, ApplicationGraphs, ApplicationInstance,
    EnvironmentApplications,
};
use pcp::Certname;
use pxp::action::CodeId;
use rbac::PermissionGrant;
use serde_json::{Value, json};

use crate::catalogs::user_with;
use crate::matrix::{OPERATORS, member};
use crate::world::{Reply, World};

/// Components as `(instance, node, produces, consumes)`.
#[derive(Debug)]
struct Applications(&'static [(&'static str, &'static str, &'static str, &'static str)]);

const LAMP: Applications = Applications(&[
    ("Lamp[app1]", "web1", "", "Sql[app1]"),
    ("Lamp[app1]", "db", "Sql[app1]", ""),
    ("Lamp[app2]", "web2", "", ""),
]);

const CROSSED: Applications = Applications(&[
    ("App[x]", "a", "Sql[a]", "Sql[b]"),
    ("App[x]", "b", "Sql[b]", "Sql[a]"),
]);

const DEPLOY: &str = "/orchestrator/v1/command/deploy";

#[async_trait]
impl ApplicationGraphs for Applications {
    async fn applications(
        &self,
        _: &EnvironmentName,
        _: Option<&CodeId>,
        _: &str,
    ) -> Result<Option<EnvironmentApplications>, ApplicationGraphError> {
        let mut instances: Vec<ApplicationInstance> = Vec::new();
        for (index, (reference, node, produces, consumes)) in self.0.iter().enumerate() {
            let list = |text: &str| Some(text.to_owned()).filter(|it| !it.is_empty());
            let component = ApplicationComponent {
                reference: format!("Part[{index}]"),
                node: node.parse().expect("a certname"),
                produces: list(produces).into_iter().collect(),
                consumes: list(consumes).into_iter().collect(),
            };
            match instances.iter_mut().find(|it| it.reference == *reference) {
                Some(instance) => instance.components.push(component),
                None => instances.push(ApplicationInstance {
                    reference: (*reference).to_owned(),
                    components: vec![component],
                }),
            }
        }
        Ok(Some(EnvironmentApplications { instances }))
    }

    async fn missing_capabilities(
        &self,
        _: &EnvironmentName,
        _: &Certname,
        _: &[String],
    ) -> Result<Vec<String>, ApplicationGraphError> {
        Ok(Vec::new())
    }
}

async fn order(world: &World, scope: Value) -> Reply {
    let path = "/orchestrator/v1/environments/production/run_order";
    world
        .post(path, json!({ "scope": scope }).to_string())
        .await
}

#[tokio::test]
async fn the_order_of_a_scope_names_levels_components_and_partial_instances() {
    let world = World::with_applications(Arc::new(LAMP)).await;
    let reply = order(&world, json!({"application": "Lamp[app1]"})).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let node = |name: &str, level: u64, waits_for: &[&str], component: &str| {
        json!({"name": name, "level": level, "waits_for": waits_for,
            "components": [{"instance": "Lamp[app1]", "component": component}]})
    };
    let expected = json!({
        "items": [node("db", 0, &[], "Part[1]"), node("web1", 1, &["db"], "Part[0]")],
        "partial_instances": [],
    });
    assert_eq!(reply.json(), expected);
    let reply = order(&world, json!({"nodes": ["other", "web1"]}))
        .await
        .json();
    assert_eq!(reply["partial_instances"], json!(["Lamp[app1]"]));
    assert_eq!(
        reply["items"][1]["level"], 0,
        "the database is not in the scope"
    );
}

#[tokio::test]
async fn what_has_no_order_is_refused_by_order_and_job_alike() {
    for (applications, scope, status, kind) in [
        (
            CROSSED,
            json!({"nodes": ["a", "b"]}),
            StatusCode::BAD_REQUEST,
            "puppetlabs.orchestrator/dependency-cycle",
        ),
        (
            LAMP,
            json!({"application": "Lamp[app3]"}),
            StatusCode::NOT_FOUND,
            "tutti/unknown-application",
        ),
        (
            LAMP,
            json!({"application": "../x"}),
            StatusCode::BAD_REQUEST,
            "puppetlabs.orchestrator/validation-error",
        ),
    ] {
        let world = World::with_applications(Arc::new(applications)).await;
        let body = json!({"environment": "production", "scope": scope}).to_string();
        for reply in [
            order(&world, scope.clone()).await,
            world.post(DEPLOY, body).await,
        ] {
            assert_eq!(reply.status, status, "{}", reply.text());
            assert_eq!(reply.json()["kind"], kind);
        }
    }
}

#[tokio::test]
async fn an_application_in_a_scope_needs_the_permission_to_view() {
    let mut world = World::with_applications(Arc::new(LAMP)).await;
    let scope = json!({"application": "Lamp"});
    let body = json!({"environment": "production", "scope": scope}).to_string();
    world.token = member(&world, OPERATORS).await;
    let reply = world.post(DEPLOY, body.clone()).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let run = PermissionGrant {
        object_type: "puppet_agent".to_owned(),
        action: "run".to_owned(),
        instance: "*".to_owned(),
    };
    world.token = user_with(&world, "rita", vec![run]).await;
    let named = json!({"environment": "production", "scope": {"nodes": ["db"]}}).to_string();
    let reply = world.post(DEPLOY, named).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    let reply = world.post(DEPLOY, body).await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN, "{}", reply.text());
}
