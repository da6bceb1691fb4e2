//! `/pdb/query/v4` over the embedded inventory.

use api_types::Route;
use http::StatusCode;
use serde_json::json;

use crate::world::World;

/// A request that is valid except for its token.
pub(crate) fn sample(route: &Route) -> Option<(&'static str, String)> {
    let query = json!({"query": ["from", "nodes"]}).to_string();
    match route.operation_id {
        "pdb_query" => Some(("/pdb/query/v4?query=nodes%20%7B%7D", String::new())),
        "pdb_query_post" => Some(("/pdb/query/v4", query)),
        "pdb_entity" => Some(("/pdb/query/v4/nodes", String::new())),
        "pdb_entity_post" => Some(("/pdb/query/v4/nodes", query)),
        _ => None,
    }
}

async fn world() -> World {
    let world = World::new().await;
    for name in ["db.example", "web.example"] {
        let certname: pcp::Certname = name.parse().expect("a certname");
        let facts = json!({"kernel": "Linux", "hostname": name});
        let record = inventory::NodeRecord {
            facts: std::sync::Arc::new(facts.as_object().expect("an object").clone()),
            trusted: std::sync::Arc::default(),
            environment: Some("production".to_owned()),
            timestamp: jiff::Timestamp::now(),
        };
        let put = world.state.inventory.record_facts(&certname, record);
        put.await.expect("facts are kept");
    }
    world
}

#[tokio::test]
async fn a_query_comes_in_a_body_in_an_address_and_for_one_entity() {
    let world = world().await;
    let web = json!([{"certname": "web.example"}]);
    let pql = json!({"query": "nodes[certname] { certname ~ '^web' }"});
    let reply = world.post("/pdb/query/v4", pql.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    assert_eq!(reply.json(), web);
    let path = "/pdb/query/v4?query=nodes%5Bcertname%5D%20%7B%20%7D&limit=1&offset=1";
    assert_eq!(world.ok(path).await, web);
    let ast = json!({"query": ["extract", "certname", ["=", "value", "web.example"]]});
    let reply = world.post("/pdb/query/v4/facts", ast.to_string()).await;
    assert_eq!(reply.json(), web);
    let order = "%5B%7B%22field%22:%22certname%22,%22order%22:%22desc%22%7D%5D";
    let path = format!("/pdb/query/v4/nodes?limit=1&order_by={order}");
    assert_eq!(world.ok(&path).await[0]["certname"], "web.example");
}

#[tokio::test]
async fn a_query_that_is_wrong_is_an_error_with_its_place() {
    let world = world().await;
    let wrong = json!({"query": "resources { }"});
    let reply = world.post("/pdb/query/v4", wrong.to_string()).await;
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/query-error");
    assert_eq!(reply.json()["details"]["place"], "line 1, column 1");
    for (path, body) in [
        ("/pdb/query/v4", json!({})),
        ("/pdb/query/v4", json!({"query": 7})),
        (
            "/pdb/query/v4",
            json!({"query": "nodes {}", "pretty": true}),
        ),
        ("/pdb/query/v4/..%2Fx", json!({"query": ["=", "a", "b"]})),
    ] {
        let reply = world.post(path, body.to_string()).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{path} {body}");
        assert_eq!(reply.kind(), "puppetlabs.orchestrator/validation-error");
    }
}
