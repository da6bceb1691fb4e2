//! Catalogs that the server compiles, and the impact of code on them.

use std::sync::Arc;

use api_types::Route;
use async_trait::async_trait;
use classifier::{FactSource, FactSourceError, NodeFacts};
use http::{Request, StatusCode};
use pcp::Certname;
use rbac::{PermissionGrant, RoleSpec, TokenRequest, UserSpec};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::world::{Reply, World};

const COMPILE: &str = "/tutti/v1/catalogs/compile";
const IMPACT: &str = "/tutti/v1/code/impact";

/// A request that is valid except for its token.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    let (path, body) = match route.operation_id {
        "catalog_compile" => (COMPILE, command("a")),
        "code_impact" => (IMPACT, json!({"environment": "production", "nodes": ["a"]})),
        _ => return None,
    };
    Some((path, body.to_string()))
}

/// A request for a catalog of `production`, with a fact.
fn command(node: &str) -> Value {
    json!({"node": node, "environment": "production", "facts": {"kernel": "Linux"}})
}

/// Every node has facts.
struct AnyNode;

#[async_trait]
impl FactSource for AnyNode {
    async fn facts(&self, certname: &Certname) -> Result<Option<NodeFacts>, FactSourceError> {
        Ok(Some(NodeFacts {
            fact: json!({"kernel": "Linux"}),
            ..NodeFacts::without_facts(certname.clone())
        }))
    }
}

async fn world() -> World {
    let world = World::new().await;
    world.state.classifier.set_fact_source(Arc::new(AnyNode));
    world
}

fn write_manifest(world: &World, environment: &str, text: &str) {
    let directory = world.dir.path().join("code/environments").join(environment);
    let manifests = directory.join("manifests");
    std::fs::create_dir_all(&manifests).expect("a directory");
    std::fs::write(manifests.join("site.pp"), text).expect("written");
}

async fn compile(world: &World, body: Value) -> Reply {
    world.post(COMPILE, body.to_string()).await
}

/// Kind and message of an error.
fn error(reply: &Reply) -> (String, String) {
    let body = reply.json();
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    (text("kind"), text("msg"))
}

#[tokio::test]
async fn a_catalog_has_its_circumstances() {
    let world = world().await;
    let manifest = "notify { $facts['kernel']: } warning('careful')";
    write_manifest(&world, "production", manifest);
    let reply = compile(&world, command("a")).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let body = reply.json();
    let resources = body["catalog"]["resources"].as_array().unwrap();
    assert!(resources.iter().any(|it| it["title"] == "Linux"));
    let [message] = &body["messages"].as_array().unwrap()[..] else {
        panic!("{body}")
    };
    assert_eq!(message["message"], "careful");
    assert_eq!(body["compiler"], json!({"name": "native", "reason": ""}));
    assert_eq!(
        (&body["node"], &body["environment"]),
        (&json!("a"), &json!("production"))
    );
    assert_eq!(body["code_id"], Value::Null);
    // without an environment it is Puppet's default
    let body = json!({"node": "a"});
    assert_eq!(
        compile(&world, body).await.json()["environment"],
        "production"
    );
}

#[tokio::test]
async fn an_error_of_the_code_has_its_place() {
    let world = world().await;
    let manifest = "file { '/a': require => File['/b'] }\nfile { '/c': require => File['/d'] }";
    write_manifest(&world, "production", manifest);
    let reply = compile(&world, command("a")).await;
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    let (kind, message) = error(&reply);
    assert_eq!(kind, "tutti/catalog-compile-error");
    assert!(message.starts_with("Could not find resource 'File[/b]' in parameter 'require'"));
    let details = &reply.json()["details"];
    assert_eq!(details["line"], 1);
    assert!(
        details["file"]
            .as_str()
            .unwrap()
            .ends_with("manifests/site.pp")
    );
    assert!(details["others"][0].as_str().unwrap().contains("File[/d]"));
}

#[tokio::test]
async fn requests_that_cannot_be_served_say_why() {
    let world = World::new().await;
    write_manifest(&world, "production", "");
    let cases = [
        (json!({"node": "a"}), 404, "no facts of a are known"),
        (json!({"node": "../a", "facts": {"a": 1}}), 400, "node"),
        (json!({"node": "a\0", "facts": {"a": 1}}), 400, "node"),
        (
            json!({"node": "a", "environment": "../x"}),
            400,
            "environment",
        ),
        (
            json!({"node": "a", "environment": "x", "facts": {"a": 1}}),
            404,
            "no environment `x`",
        ),
        (
            json!({"node": "a", "version": "3f", "facts": {"a": 1}}),
            404,
            "deploys no code",
        ),
        (json!({"node": "a", "facts": [1]}), 400, "facts"),
        (json!({"node": "a", "unknown": 1}), 400, "unknown"),
    ];
    for (body, status, part) in cases {
        let reply = compile(&world, body.clone()).await;
        assert_eq!(reply.status.as_u16(), status, "{body}: {}", reply.text());
        assert!(reply.text().contains(part), "{body}: {}", reply.text());
    }
}

#[tokio::test]
async fn nodes_are_grouped_by_what_changes() {
    let world = world().await;
    write_manifest(&world, "production", "notify { 'a': }");
    let changed = "if $trusted['certname'] == 'b' { notify { 'b': } } else { notify { 'a': } }";
    write_manifest(&world, "changed", changed);
    let body = json!({
        "environment": "changed", "against_environment": "production", "nodes": ["a", "b", "c"],
    });
    let reply = world.post(IMPACT, body.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let group = json!({"error": false, "changes": ["- Notify[a]", "+ Notify[b]"], "nodes": ["b"]});
    let expected = json!({"code_id": null, "against_code_id": null, "equal": 2, "groups": [group]});
    assert_eq!(reply.json(), expected);
}

#[tokio::test]
async fn one_request_names_a_bounded_number_of_nodes() {
    let world = world().await;
    write_manifest(&world, "production", "");
    let request = |count: usize| {
        let nodes: Vec<String> = (0..count).map(|it| format!("n{it}")).collect();
        json!({"environment": "production", "nodes": nodes}).to_string()
    };
    assert_eq!(world.post(IMPACT, request(25)).await.json()["equal"], 25);
    let reply = world.post(IMPACT, request(26)).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert!(error(&reply).1.contains("at most 25 nodes"));
}

#[tokio::test]
async fn the_permission_holds_for_the_named_environments() {
    let world = world().await;
    for environment in ["production", "secret"] {
        write_manifest(&world, environment, "notify { 'a': }");
    }
    let token = compiler_of_production(&world).await;
    let post = async |path: &str, body: Value| {
        let request = Request::post(path).header("X-Authentication", &token);
        let request = request.body(body.to_string().into()).expect("a request");
        world.send(request).await.status
    };
    assert_eq!(post(COMPILE, command("a")).await, StatusCode::OK);
    let other = json!({"node": "a", "environment": "secret"});
    assert_eq!(post(COMPILE, other).await, StatusCode::FORBIDDEN);
    let own = json!({"environment": "production", "nodes": ["a"]});
    assert_eq!(post(IMPACT, own).await, StatusCode::OK);
    for (environment, against) in [("production", "secret"), ("secret", "production")] {
        let body = json!({
            "environment": environment, "against_environment": against, "nodes": ["a"],
        });
        assert_eq!(post(IMPACT, body).await, StatusCode::FORBIDDEN);
    }
}

/// A user who may only compile catalogs of `production`; returns the user's token.
async fn compiler_of_production(world: &World) -> String {
    let access = &world.state.access;
    let by = access.api_user();
    let role = RoleSpec {
        display_name: "compiles production".to_owned(),
        permissions: vec![PermissionGrant {
            object_type: "puppetserver".to_owned(),
            action: "compile_catalogs".to_owned(),
            instance: "production".to_owned(),
        }],
        ..RoleSpec::default()
    };
    let role = access.create_role(&by, role).await.expect("a role");
    let user = UserSpec {
        login: "cora".to_owned(),
        display_name: "Cora".to_owned(),
        password: Some("a good password".into()),
        role_ids: vec![role],
        ..UserSpec::default()
    };
    access.create_user(&by, user).await.expect("a user");
    let request = TokenRequest::default();
    let token = Box::pin(access.login("cora", "a good password".into(), request, None));
    token.await.expect("a token").expose_secret().to_owned()
}
