//! Catalogs that the server compiles, and the impact of code on them.

use std::sync::Arc;

use api_types::Route;
use async_trait::async_trait;
use catalogs::defaults::COMPILES_WAITING_OF_CALLER_MAX;
use catalogs::{CatalogSettings, Catalogs, EmbeddedExports};
use classifier::{
    Classifier, FactSource, FactSourceError, GroupInput, NodeFacts, UnrestrictedEditor,
};
use environments::CodeReader;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::{Request, StatusCode, header};
use pcp::Certname;
use pki::seal::SealKey;
use rbac::{PermissionGrant, RoleSpec, TokenRequest, UserSpec};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::world::{Reply, World};

const COMPILE: &str = "/tutti/v1/catalogs/compile";
const IMPACT: &str = "/tutti/v1/code/impact";

/// A request that is valid except for its token.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    match route.operation_id {
        "node_catalog" => return Some(("/tutti/v1/catalogs/a", String::new())),
        "node_catalog_history" => return Some(("/tutti/v1/catalogs/a/history", String::new())),
        _ => {}
    }
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

/// The same with other settings of the engine.
async fn world_with(settings: impl FnOnce(&World) -> CatalogSettings) -> World {
    let mut world = world().await;
    let settings = CatalogSettings {
        codedir: world.dir.path().join("code"),
        ..settings(&world)
    };
    let code = Arc::clone(&world.state.code) as Arc<dyn CodeReader>;
    world.state.catalogs = Catalogs::new(settings, code, world.state.classifier.clone());
    world.router = api::router(world.state.clone());
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

/// A client with many requests is told to wait, and others are served.
#[tokio::test]
async fn one_user_cannot_take_the_whole_queue() {
    let world = world_with(|_| CatalogSettings {
        concurrent_compiles: 1,
        ..CatalogSettings::default()
    })
    .await;
    let endless = "Integer[1, 100000000000].each |$n| { $x = $n }";
    write_manifest(&world, "production", endless);
    let token = compiler_of_production(&world).await;
    let many = COMPILES_WAITING_OF_CALLER_MAX + 2;
    let mut requests: FuturesUnordered<_> =
        (0..many).map(|_| compile(&world, command("a"))).collect();
    let refused = requests.next().await.expect("a reply");
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers.contains_key(header::RETRY_AFTER));
    let (kind, message) = error(&refused);
    assert_eq!(kind, "puppetlabs.orchestrator/service-unavailable");
    let expected = format!("{COMPILES_WAITING_OF_CALLER_MAX} catalogs that you requested");
    assert!(message.starts_with(&expected), "{message}");
    let other = Request::post(COMPILE).header("X-Authentication", &token);
    let other = other.body(command("a").to_string().into());
    let mut other = Box::pin(world.send(other.expect("a request")));
    while world.state.catalogs.counts().0 <= COMPILES_WAITING_OF_CALLER_MAX {
        assert!(futures_util::poll!(&mut other).is_pending(), "it waits");
        tokio::task::yield_now().await;
    }
    let rest = async { while requests.next().await.is_some() {} };
    tokio::join!(world.state.catalogs.shutdown(), other, rest);
}

#[tokio::test]
async fn exported_resources_are_kept_only_from_the_nodes_own_catalog() {
    let world = world_with(|world| {
        let seal = SealKey::open_or_create(&world.dir.path().join("seal")).expect("a key");
        let runtime = tokio::runtime::Handle::current();
        let exports = EmbeddedExports::new(world.store.clone(), Arc::new(seal), runtime);
        CatalogSettings {
            kept_exports: Some(exports),
            ..CatalogSettings::default()
        }
    })
    .await;
    let known = world.store.record_inventory_nodes(&["a".to_owned()]).await;
    known.expect("recorded");
    write_manifest(&world, "production", "@@notify { 'a': }");
    write_manifest(&world, "other", "@@notify { 'of other': }");
    let with_facts = json!({"node": "a", "keep_exports": true, "facts": {"kernel": "Linux"}});
    let of_other = json!({"node": "a", "keep_exports": true, "environment": "other"});
    for body in [with_facts, of_other] {
        let reply = compile(&world, body).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{}", reply.text());
        let (kind, message) = error(&reply);
        assert_eq!(kind, "puppetlabs.orchestrator/validation-error");
        assert!(
            message.contains("no environment other than production"),
            "{message}"
        );
    }
    let kept = world.store.exporting_node("a").await.expect("an answer");
    assert_eq!(kept, None);
    let own = json!({"node": "a", "keep_exports": true});
    assert_eq!(compile(&world, own).await.status, StatusCode::OK);
    let kept = world.store.exporting_node("a").await.expect("an answer");
    assert!(kept.is_some());
}

/// Facts, node groups and environments of a node are told only to those who may compile catalogs.
#[tokio::test]
async fn a_caller_without_the_permission_learns_nothing_of_a_node() {
    let world = World::new().await;
    let classifier = &world.state.classifier;
    write_manifest(&world, "production", "");
    let token = user_with(&world, "nora", Vec::new()).await;
    let body = json!({"node": "a"});
    let mut replies = Vec::new();
    let mut compare = async || {
        let reply = compile(&world, body.clone()).await;
        let request = Request::post(COMPILE).header("X-Authentication", &token);
        let request = request.body(body.to_string().into()).expect("a request");
        let refused = world.send(request).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text());
        replies.push(refused.text());
        reply.status.as_u16()
    };
    assert_eq!(compare().await, 404, "no facts are known");
    classifier.set_fact_source(Arc::new(AnyNode));
    assert_eq!(compare().await, 200);
    for color in ["red", "blue"] {
        create_group(classifier, color).await;
    }
    assert_eq!(compare().await, 500, "the groups contradict each other");
    assert_eq!(replies[0], replies[1]);
    assert_eq!(replies[1], replies[2]);
}

/// A node group of all nodes with a variable of its own value.
async fn create_group(classifier: &Classifier, color: &str) {
    let group = json!({
        "name": color, "parent": "00000000-0000-4000-8000-000000000000", "classes": {},
        "rule": ["~", "name", "."], "variables": {"color": color},
    });
    let group = GroupInput::parse(&group).expect("a group");
    let created = classifier.create(group, UnrestrictedEditor).await;
    created.expect("created");
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
    let permission = PermissionGrant {
        object_type: "puppetserver".to_owned(),
        action: "compile_catalogs".to_owned(),
        instance: "production".to_owned(),
    };
    user_with(world, "cora", vec![permission]).await
}

/// A user with these permissions; returns the user's token.
pub(crate) async fn user_with(
    world: &World,
    login: &str,
    permissions: Vec<PermissionGrant>,
) -> String {
    let access = &world.state.access;
    let by = access.api_user();
    let role = RoleSpec {
        display_name: format!("role of {login}"),
        permissions,
        ..RoleSpec::default()
    };
    let role = access.create_role(&by, role).await.expect("a role");
    let user = UserSpec {
        login: login.to_owned(),
        display_name: login.to_owned(),
        password: Some("a good password".into()),
        role_ids: vec![role],
        ..UserSpec::default()
    };
    access.create_user(&by, user).await.expect("a user");
    let request = TokenRequest::default();
    let token = Box::pin(access.login(login, "a good password".into(), request, None));
    token.await.expect("a token").expose_secret().to_owned()
}

#[tokio::test]
async fn the_catalog_of_an_agent_is_shown_without_its_content() {
    let world = World::new().await;
    let reply = world.get("/tutti/v1/catalogs/web").await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND, "{}", reply.text());
    assert_eq!(reply.json()["kind"], "tutti/no-catalog");
    let reply = world.get("/tutti/v1/catalogs/web/history").await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND, "{}", reply.text());
    let reply = world.get("/tutti/v1/catalogs/a%5Cb").await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{}", reply.text());
    let summary = json!({"catalog_uuid": "u", "environment": "production", "code_id": "c", "milliseconds": 5,
        "bytes": 60, "volatile": null, "causes": [
            {"kind": "facts", "paths": {"names": ["os.family"], "further": 2}},
            {"kind": "input", "input": "code", "before": "b"}]});
    let row = store::CatalogCompilationRow {
        certname: "web".to_owned(),
        sequence: 1,
        at_ms: 1_795_840_350_000,
        summary: summary.to_string(),
    };
    let bounds = store::AgentCatalogBounds {
        catalogs: 3,
        compilations: 9,
        known_nodes_only: false,
    };
    let changes = [store::AgentCatalogChange::Compilation(row)];
    let changing = world.store.change_agent_catalogs(&changes, bounds);
    changing.await.expect("recorded");
    let item = json!({"catalog_uuid": "u", "environment": "production", "code_id": "c",
        "time": "2026-11-28T04:32:30.000Z", "milliseconds": 5, "bytes": 60, "volatile": null, "ahead": false,
        "causes": [
            {"kind": "facts", "text": "facts that the code reads changed", "names": ["os.family"], "further": 2},
            {"kind": "code", "text": "the version of the code changed; before: b", "names": [], "further": 0}]});
    let reply = world.get("/tutti/v1/catalogs/web").await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let document = json!({"node": "web", "compilation": item, "kept": null});
    assert_eq!(reply.json(), document);
    let reply = world.get("/tutti/v1/catalogs/web/history").await;
    assert_eq!(reply.json(), json!({"node": "web", "items": [item]}));
}
