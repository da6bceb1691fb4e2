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

use crate::agents::Manner;
use crate::catalogs::user_with;
use crate::deploys::changed;
use crate::matrix::{OPERATORS, member};
use crate::plan_programs::settled;
use crate::world::{Reply, World};

/// Components as `(instance, node, produces, consumes)`.
#[derive(Debug)]
pub(crate) struct Applications(&'static [(&'static str, &'static str, &'static str, &'static str)]);

const LAMP: Applications = Applications(&[
    ("Lamp[app1]", "web1", "", "Sql[app1]"),
    ("Lamp[app1]", "db", "Sql[app1]", ""),
    ("Lamp[app2]", "web2", "", ""),
]);

/// A site with a typing mistake.
const MISTYPED: Applications = Applications(&[
    ("Lamp[app1]", "wbe1.example.com", "", "Sql[app1]"),
    ("Lamp[app1]", "a", "Sql[app1]", ""),
    ("Lamp[app1]", "of-inventory.example.com", "", ""),
    ("Lamp[app1]", "away.example.com", "", ""),
]);

pub(crate) const CROSSED: Applications = Applications(&[
    ("App[x]", "a", "Sql[a]", "Sql[b]"),
    ("App[x]", "b", "Sql[b]", "Sql[a]"),
]);

/// Each node has a database, and the web server of the other one's.
pub(crate) const PAIR: Applications = Applications(&[
    ("Pair[one]", "a", "Sql[a]", ""),
    ("Pair[one]", "a", "", "Sql[b]"),
    ("Pair[one]", "b", "Sql[b]", ""),
    ("Pair[one]", "b", "", "Sql[a]"),
]);

const MULTI_PASS: &str = "/orchestrator/v1/command/multi_pass";
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
        "absent_nodes": {
            "unknown": [{"name": "db", "near": []}, {"name": "web1", "near": []}],
            "unknown_omitted": 0,
            "disconnected": [],
            "disconnected_omitted": 0,
        },
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

/// Nodes of the site [`MISTYPED`]: one is connected, one was, and one has reported facts. Of others, one is connected,
/// and one has reported facts.
async fn mistyped_world() -> World {
    let world = World::with_applications(Arc::new(MISTYPED)).await;
    for connected in ["a", "web3.example.com"] {
        world.agents.add(connected, Manner::default());
    }
    for with_facts in ["of-inventory.example.com", "web1.example.com"] {
        let record = inventory::NodeRecord {
            facts: Arc::default(),
            trusted: Arc::default(),
            environment: None,
            timestamp: jiff::Timestamp::now(),
        };
        let certname: Certname = with_facts.parse().expect("a certname");
        let kept = world.state.inventory.record_facts(&certname, record).await;
        kept.expect("facts are kept");
    }
    let was_connected = vec!["away.example.com".to_owned()];
    let recorded = world.state.store.record_agents(was_connected).await;
    recorded.expect("recorded");
    world
}

#[tokio::test]
async fn nodes_of_which_nothing_is_known_are_named_with_similar_names() {
    let world = mistyped_world().await;
    let order = order(&world, json!({"application": "Lamp"})).await.json();
    assert_eq!(
        order["absent_nodes"],
        json!({
            "unknown": [
                {"name": "wbe1.example.com", "near": ["web1.example.com", "web3.example.com"]},
            ],
            "unknown_omitted": 0,
            "disconnected": ["away.example.com", "of-inventory.example.com"],
            "disconnected_omitted": 0,
        })
    );
}

#[tokio::test]
async fn names_of_the_inventory_are_not_told_to_a_caller_that_may_not_view_it() {
    let mut world = mistyped_world().await;
    let view = PermissionGrant {
        object_type: "orchestrator".to_owned(),
        action: "view".to_owned(),
        instance: "*".to_owned(),
    };
    world.token = user_with(&world, "rita", vec![view]).await;
    let order = order(&world, json!({"application": "Lamp"})).await.json();
    assert_eq!(
        order["absent_nodes"],
        json!({
            "unknown": [
                {"name": "of-inventory.example.com", "near": []},
                {"name": "wbe1.example.com", "near": ["web3.example.com"]},
            ],
            "unknown_omitted": 0,
            "disconnected": ["away.example.com"],
            "disconnected_omitted": 0,
        })
    );
}

#[tokio::test]
async fn the_names_of_absent_nodes_are_bounded() {
    let world = mistyped_world().await;
    let nodes: Vec<String> = (100..250).map(|n| format!("web3{n}.example.com")).collect();
    let order = order(&world, json!({ "nodes": nodes })).await.json();
    let absent = &order["absent_nodes"];
    let unknown = absent["unknown"].as_array().expect("a list");
    assert_eq!(
        (unknown.len(), &absent["unknown_omitted"]),
        (100, &json!(50))
    );
    let with_near = unknown.iter().filter(|it| it["near"] != json!([]));
    assert_eq!(with_near.count(), 5);
}

#[tokio::test]
async fn nodes_that_wait_for_each_other_have_passes_and_run_in_them() {
    let world = World::with_applications(Arc::new(PAIR)).await;
    let scope = json!({"application": "Pair"});
    assert_eq!(
        order(&world, scope.clone()).await.status,
        StatusCode::BAD_REQUEST
    );
    let path = "/orchestrator/v1/environments/production/run_order";
    let query = json!({"scope": scope, "multi_pass": true});
    let reply = world.post(path, query.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let part =
        |number: usize| json!({"instance": "Pair[one]", "component": format!("Part[{number}]")});
    let items = json!([
        {"name": "a", "pass": 1, "level": 0, "waits_for": [], "components": [part(0), part(1)], "left_out": ["Part[1]"]},
        {"name": "b", "pass": 1, "level": 0, "waits_for": [], "components": [part(2), part(3)], "left_out": ["Part[3]"]},
        {"name": "a", "pass": 2, "level": 0, "waits_for": ["b"], "components": [part(0), part(1)]},
        {"name": "b", "pass": 2, "level": 0, "waits_for": ["a"], "components": [part(2), part(3)]},
    ]);
    assert_eq!(reply.json()["items"], items);

    world.nodes(2, &changed());
    let deploy = json!({"environment": "production", "scope": scope, "description": "ticket 7"});
    let reply = world
        .post(MULTI_PASS, json!({"deploy": deploy}).to_string())
        .await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{}", reply.text());
    assert_eq!(reply.json(), json!({"name": "1"}));
    settled(&world, 1).await;
    let plan = world.ok("/orchestrator/v1/plan_jobs/1").await;
    assert_eq!(plan["state"], "success", "{plan:#}");
    let result = json!({"state": "succeeded", "passes": 2, "nodes_by_runs": {"2": 2},
        "unsuccessful": {}, "unsuccessful_omitted": 0});
    assert_eq!(plan["result"], result);
    assert_eq!(plan["options"]["plan_name"], "puppet:multi-pass");
    let parameters = json!({"nodes": 2, "passes": 2, "scope": {"application": "Pair"}});
    assert_eq!(plan["options"]["parameters"], parameters);
    for job in 1..=2 {
        let job = world.ok(&format!("/orchestrator/v1/jobs/{job}")).await;
        assert_eq!(job["state"], "finished");
        assert_eq!(job["options"]["description"], "ticket 7");
    }
}

#[tokio::test]
async fn what_cannot_run_in_passes_is_refused() {
    let world = World::with_applications(Arc::new(CROSSED)).await;
    let deploy = json!({"environment": "production", "scope": {"nodes": ["a", "b"]}});
    let reply = world
        .post(MULTI_PASS, json!({"deploy": deploy}).to_string())
        .await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        reply.json()["kind"],
        "puppetlabs.orchestrator/dependency-cycle"
    );
    assert!(
        reply.text().contains("components wait for each other"),
        "{}",
        reply.text()
    );
    for (key, value) in [
        ("environment", json!("")),
        ("quarantine", json!(true)),
        ("splay", json!(60)),
        ("use_cached_catalog", json!(true)),
        ("usecacheonfailure", json!(true)),
    ] {
        let mut deploy = deploy.clone();
        deploy[key] = value;
        let reply = world
            .post(MULTI_PASS, json!({"deploy": deploy}).to_string())
            .await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{key}");
        assert!(reply.text().contains(key), "{}", reply.text());
    }
}

#[tokio::test]
async fn an_application_in_passes_needs_the_permission_to_view_too() {
    let mut world = World::with_applications(Arc::new(PAIR)).await;
    let run = PermissionGrant {
        object_type: "puppet_agent".to_owned(),
        action: "run".to_owned(),
        instance: "*".to_owned(),
    };
    world.token = user_with(&world, "rita", vec![run]).await;
    for (scope, status) in [
        (json!({"application": "Pair"}), StatusCode::FORBIDDEN),
        (json!({"nodes": ["a", "b"]}), StatusCode::ACCEPTED),
    ] {
        let deploy = json!({"environment": "production", "scope": scope});
        let reply = world
            .post(MULTI_PASS, json!({"deploy": deploy}).to_string())
            .await;
        assert_eq!(reply.status, status, "{}", reply.text());
    }
}
