//! The routes under `/classifier-api`: statuses, shapes, and every kind of refusal.

use api_types::Route;
use http::{StatusCode, header};
use serde_json::{Value, json};

use crate::world::{Reply, World};

const ROOT: &str = "00000000-0000-4000-8000-000000000000";
const BASE: &str = "/classifier-api/v1";

/// A request that is valid except for its token, for the tests in `doors`.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    let root =
        || json!({"name": "All Nodes", "parent": ROOT, "classes": {}, "rule": ["~", "name", ".*"]});
    let named = |name: &str| json!({"name": name, "parent": ROOT, "classes": {}});
    let (path, body) = match route.operation_id {
        "node_groups" => ("/classifier-api/v1/groups", json!(null)),
        "node_group" => (
            "/classifier-api/v1/groups/00000000-0000-4000-8000-000000000000",
            json!(null),
        ),
        "node_group_create" => ("/classifier-api/v1/groups", named("New")),
        "node_group_put" => (
            "/classifier-api/v1/groups/00000000-0000-4000-8000-000000000000",
            root(),
        ),
        "node_group_update" => (
            "/classifier-api/v1/groups/7b1d1d4c-9f6e-4c5b-8f3a-2b640e516a03",
            json!({"description": "new"}),
        ),
        "node_group_delete" => (
            "/classifier-api/v1/groups/7b1d1d4c-9f6e-4c5b-8f3a-2b640e516a03",
            json!(null),
        ),
        "node_group_pin" => (
            "/classifier-api/v1/groups/7b1d1d4c-9f6e-4c5b-8f3a-2b640e516a02/pin?nodes=a",
            json!(null),
        ),
        "node_group_unpin" => (
            "/classifier-api/v1/groups/7b1d1d4c-9f6e-4c5b-8f3a-2b640e516a02/unpin?nodes=a",
            json!(null),
        ),
        "node_group_rules" => (
            "/classifier-api/v1/groups/00000000-0000-4000-8000-000000000000/rules",
            json!(null),
        ),
        "node_group_children" => (
            "/classifier-api/v1/group-children/00000000-0000-4000-8000-000000000000?depth=1",
            json!(null),
        ),
        "classifier_classes" => ("/classifier-api/v1/classes", json!(null)),
        "classifier_environments" => ("/classifier-api/v1/environments", json!(null)),
        "classifier_environment" => ("/classifier-api/v1/environments/production", json!(null)),
        "classifier_environment_put" => ("/classifier-api/v1/environments/staging", json!(null)),
        "classifier_environment_delete" => {
            ("/classifier-api/v1/environments/announced", json!(null))
        }
        "classifier_environment_class" => (
            "/classifier-api/v1/environments/production/classes/apache",
            json!(null),
        ),
        "classifier_environment_classes" => (
            "/classifier-api/v1/environments/production/classes",
            json!(null),
        ),
        "update_classes" => ("/classifier-api/v1/update-classes", json!(null)),
        "last_class_update" => ("/classifier-api/v1/last-class-update", json!(null)),
        "check_ins" => ("/classifier-api/v1/nodes", json!(null)),
        "node_check_ins" => ("/classifier-api/v1/nodes/a", json!(null)),
        "classified" => ("/classifier-api/v1/classified/nodes/a", json!({"fact": {}})),
        "classified_v2" => ("/classifier-api/v2/classified/nodes/a", json!(null)),
        "classification_explanation" => (
            "/classifier-api/v1/classified/nodes/a/explanation",
            json!(null),
        ),
        "enc" => ("/classifier-api/v1/enc/a", json!(null)),
        "unpin_from_all" => (
            "/classifier-api/v1/commands/unpin-from-all",
            json!({"nodes": ["a"]}),
        ),
        "import_hierarchy" => {
            let mut group = root();
            group["id"] = json!(ROOT);
            ("/classifier-api/v1/import-hierarchy", json!([group]))
        }
        "translate_rule" => (
            "/classifier-api/v1/rules/translate",
            json!(["=", "name", "a"]),
        ),
        "validate_group" => ("/classifier-api/v1/validate/group", named("Other")),
        _ => return None,
    };
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    Some((path, body))
}

/// Stores a check-in of the node `a`, so that `GET nodes` lists it.
pub(crate) async fn check_in(world: &World) {
    let node = classifier::NodeFacts::without_facts("a".parse().expect("a certname"));
    let kept = world.state.classifier.check_in(&node, None).await;
    kept.expect("kept");
}

async fn send(world: &World, method: &str, path: &str, body: Value) -> Reply {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    world
        .send(world.request(method, &format!("{BASE}{path}"), body))
        .await
}

async fn create(world: &World, group: Value) -> String {
    let reply = send(world, "POST", "/groups", group).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    let place = reply.headers[header::LOCATION].to_str().unwrap();
    let id = place.rsplit('/').next().unwrap();
    assert_eq!(
        place,
        format!("https://tutti.example.com:8143{BASE}/groups/{id}")
    );
    id.to_owned()
}

fn web() -> Value {
    json!({
        "name": "Web", "parent": ROOT, "rule": ["=", ["fact", "role"], "web"],
        "classes": {"apache": {"port": 80}}, "variables": {"site": "x"},
    })
}

#[tokio::test]
async fn groups_are_created_read_edited_and_deleted_with_the_documented_statuses() {
    let world = World::new().await;
    let id = create(&world, web()).await;
    let path = format!("/groups/{id}");
    let group = world.ok(&format!("{BASE}{path}")).await;
    assert_eq!(group["serial_number"], 1);
    assert_eq!(group["environment"], "production");
    let delta = json!({"classes": {"apache": {"port": null, "tls": true}}, "serial_number": 1});
    let reply = send(&world, "POST", &path, delta.clone()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    assert_eq!(reply.json()["classes"], json!({"apache": {"tls": true}}));
    assert_eq!(
        send(&world, "POST", &path, delta).await.status,
        StatusCode::CONFLICT
    );
    // A group that was read can be written back unchanged.
    let same = send(&world, "PUT", &path, reply.json()).await;
    assert_eq!(same.status, StatusCode::OK, "{}", same.text());
    assert_eq!(same.json()["serial_number"], 2);
    let new = "b5b53b94-5d0f-4a5c-a3a3-5f2c6d5a9b11";
    let put = send(
        &world,
        "PUT",
        &format!("/groups/{new}"),
        json!({"name": "Put", "parent": id, "classes": {}}),
    )
    .await;
    assert_eq!(put.status, StatusCode::CREATED, "{}", put.text());
    let tree = world.ok(&format!("{BASE}/group-children/{ROOT}")).await;
    assert_eq!(tree[0]["immediate_child_count"], 2);
    let shown = tree[0]["children"].as_array().unwrap();
    let web = shown.iter().find(|child| child["name"] == "Web").unwrap();
    assert_eq!(web["children"][0]["name"], "Put");
    let flat = world
        .ok(&format!("{BASE}/group-children/{ROOT}?depth=0"))
        .await;
    assert_eq!(flat[0]["children"], json!([]));
    let inherited = world
        .ok(&format!("{BASE}/groups/{new}?inherited=true"))
        .await;
    assert_eq!(inherited["classes"], json!({"apache": {"tls": true}}));
    let page = world.ok(&format!("{BASE}/groups?limit=2&offset=1")).await;
    assert_eq!(page.as_array().unwrap().len(), 2);
    for gone in [new, id.as_str()] {
        let reply = send(&world, "DELETE", &format!("/groups/{gone}"), json!(null)).await;
        assert_eq!(reply.status, StatusCode::NO_CONTENT);
    }
    assert_eq!(
        world.get(&format!("{BASE}{path}")).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn every_kind_of_refusal_has_its_status_and_name() {
    let world = World::new().await;
    let id = create(&world, web()).await;
    let child = create(
        &world,
        json!({"name": "Child", "parent": id, "classes": {}}),
    )
    .await;
    let group = format!("/groups/{id}");
    let lone = "b5b53b94-5d0f-4a5c-a3a3-5f2c6d5a9b11";
    let with = |key: &str, value: Value| {
        let mut group = json!({"name": "X", "parent": ROOT, "classes": {}});
        group[key] = value;
        group
    };
    let root = json!({"id": ROOT, "name": "All Nodes", "parent": ROOT, "classes": {}});
    let cases = [
        (
            "POST",
            "/groups",
            json!({"name": "X"}),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "/groups",
            with("rule", json!(["="])),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "/groups",
            with("rule", json!(["~", "name", "(?=x)"])),
            400,
            "schema-violation",
        ),
        ("POST", "/groups", json!(null), 400, "malformed-request"),
        ("GET", "/groups/x", json!(null), 400, "malformed-uuid"),
        (
            "GET",
            &format!("/groups/{lone}"),
            json!(null),
            404,
            "not-found",
        ),
        (
            "GET",
            &format!("/group-children/{ROOT}?depth=x"),
            json!(null),
            400,
            "malformed-number",
        ),
        (
            "GET",
            &format!("/group-children/{ROOT}?depth=-1"),
            json!(null),
            400,
            "illegal-count",
        ),
        ("POST", &group, json!({"id": lone}), 400, "conflicting-ids"),
        (
            "POST",
            &group,
            json!({"serial_number": 9}),
            409,
            "serial-number-conflict",
        ),
        ("POST", "/groups", web(), 422, "uniqueness-violation"),
        (
            "POST",
            "/groups",
            with("parent", json!(lone)),
            422,
            "missing-parent",
        ),
        (
            "POST",
            &group,
            json!({"parent": child}),
            422,
            "inheritance-cycle",
        ),
        (
            "POST",
            &format!("/groups/{ROOT}"),
            json!({"rule": null}),
            422,
            "root-group-immutable",
        ),
        (
            "DELETE",
            &format!("/groups/{ROOT}"),
            json!(null),
            422,
            "root-group-immutable",
        ),
        ("DELETE", &group, json!(null), 422, "children-present"),
        (
            "POST",
            &format!("{group}/pin"),
            json!(null),
            400,
            "missing-parameters",
        ),
        (
            "POST",
            &format!("{group}/pin"),
            json!({"node": []}),
            400,
            "schema-violation",
        ),
        (
            "POST",
            &format!("{group}/pin"),
            json!({"nodes": ["../x"]}),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "/import-hierarchy",
            json!({}),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "/import-hierarchy",
            json!([with("id", json!(lone))]),
            422,
            "unreachable-groups",
        ),
        (
            "POST",
            "/import-hierarchy",
            json!([root, {"id": lone, "name": "X", "parent": child, "classes": {}}]),
            422,
            "unreachable-groups",
        ),
        (
            "POST",
            "/rules/translate",
            json!(["=", ["trusted", "certname"], "x"]),
            422,
            "untranslatable-rule",
        ),
        (
            "POST",
            "/rules/translate",
            json!(["xor"]),
            400,
            "schema-violation",
        ),
        (
            "POST",
            "/classified/nodes/a",
            json!({"facts": {}}),
            400,
            "schema-violation",
        ),
        ("GET", "/nodes/unseen", json!(null), 404, "not-found"),
        ("GET", "/environments/none", json!(null), 404, "not-found"),
    ];
    for (method, path, body, status, kind) in cases {
        let reply = send(&world, method, path, body.clone()).await;
        assert_eq!(
            reply.status.as_u16(),
            status,
            "{method} {path} {body}: {}",
            reply.text()
        );
        assert_eq!(reply.kind(), kind, "{method} {path} {body}");
    }
    let broken = world.post(&format!("{BASE}/groups"), "{").await;
    assert_eq!(broken.kind(), "malformed-request");
    assert_eq!(
        world.state.classifier.groups().len(),
        6,
        "nothing was changed"
    );
}

#[tokio::test]
async fn a_node_is_classified_explained_and_given_to_puppet() {
    let world = World::new().await;
    let id = create(&world, web()).await;
    let facts = json!({"fact": {"role": "web"}, "transaction_uuid": "t1"});
    let reply = send(&world, "POST", "/classified/nodes/n1", facts.clone())
        .await
        .json();
    assert_eq!(reply["classes"], json!({"apache": {"port": 80}}));
    assert_eq!(reply["parameters"], json!({"site": "x"}));
    assert_eq!(reply["environment"], "production");
    assert!(reply["groups"].as_array().unwrap().contains(&json!(id)));
    let two = world
        .post("/classifier-api/v2/classified/nodes/n1", facts.to_string())
        .await
        .json();
    assert_eq!(two["classes"], json!(["apache"]));
    assert_eq!(two["parameters"], json!({"apache": {"port": 80}}));
    let why = send(
        &world,
        "POST",
        "/classified/nodes/n1/explanation",
        json!({"fact": {"role": "web"}}),
    )
    .await;
    let why = why.json();
    assert_eq!(why["match_explanations"][&id]["value"], true);
    assert_eq!(
        why["final_classification"]["classes"],
        json!({"apache": {"port": 80}})
    );
    assert_eq!(
        why["classification_sources"]["classes"]["apache"]["port"]["sources"],
        json!([id])
    );
    let seen = world.ok(&format!("{BASE}/nodes/n1")).await;
    assert_eq!(seen["transaction_uuid"], "t1");
    // A node without facts is classified by its name: it is pinned.
    let pin = send(
        &world,
        "POST",
        &format!("/groups/{id}/pin?nodes=n2,n3"),
        json!(null),
    )
    .await;
    assert_eq!(pin.status, StatusCode::NO_CONTENT);
    let yaml = world.get(&format!("{BASE}/enc/n2")).await;
    assert_eq!(
        yaml.text(),
        "---\n\"classes\":\n  \"apache\":\n    \"port\": 80\n\"parameters\":\n  \"site\": \"x\"\n\
         \"environment\": \"production\"\n"
    );
    let rules = world.ok(&format!("{BASE}/groups/{id}/rules")).await;
    assert_eq!(
        rules["translated"]["inventory_query_format"],
        json!([
            "or",
            ["in", "certname", ["array", ["n2", "n3"]]],
            ["=", "facts.role", "web"]
        ])
    );
    let unpinned = send(
        &world,
        "POST",
        "/commands/unpin-from-all",
        json!({"nodes": ["n2"]}),
    )
    .await
    .json();
    assert_eq!(unpinned["nodes"][0]["groups"][0]["name"], "Web");
}

#[tokio::test]
async fn a_conflict_is_an_error_that_names_both_sides() {
    let world = World::new().await;
    for (name, port) in [("One", 1), ("Two", 2)] {
        let classes = json!({"apache": {"port": port}});
        create(
            &world,
            json!({"name": name, "parent": ROOT, "rule": ["=", "name", "n"], "classes": classes}),
        )
        .await;
    }
    for reply in [
        send(&world, "POST", "/classified/nodes/n", json!({})).await,
        world.get(&format!("{BASE}/enc/n")).await,
    ] {
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(reply.kind(), "classification-conflict");
        let claims = &reply.json()["details"]["classes"]["apache"]["port"];
        assert_eq!(claims[0]["from"]["name"], "One");
        assert_eq!(claims[1]["value"], 2);
    }
    let why = send(&world, "POST", "/classified/nodes/n/explanation", json!({}))
        .await
        .json();
    assert!(
        why["conflicts"]["classes"]["apache"].is_object() && why["final_classification"].is_null()
    );
}

#[tokio::test]
async fn a_dump_of_all_groups_can_be_imported_again() {
    let world = World::new().await;
    create(&world, web()).await;
    let dump = world.ok(&format!("{BASE}/groups")).await;
    let reply = send(&world, "POST", "/import-hierarchy", dump.clone()).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT, "{}", reply.text());
    let again = world.ok(&format!("{BASE}/groups")).await;
    assert_eq!(
        again.as_array().unwrap().len(),
        dump.as_array().unwrap().len()
    );
}
