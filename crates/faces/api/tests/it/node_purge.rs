//! Removal of nodes: certificate, data, rights, and repeated requests.

use http::StatusCode;
use inventory::NodeRecord;
use jiff::Timestamp;
use pcp::Certname;
use pki::ca::SignOptions;
use run_reports::RunReport;
use serde_json::{Value, json};

use crate::agents::Manner;
use crate::certificates::{FOR_EVER, ask, submit, world};
use crate::matrix::{NOBODY, OPERATORS, VIEWERS, member};
use crate::world::{Reply, World};

const PURGE: &str = "/inventory/v1/command/purge-node";
const WEB1: &str = "web1.example.com";

async fn purge(world: &World, token: &str, body: Value) -> Reply {
    ask(world, "POST", PURGE, token, body).await
}

/// Records facts and a report of a node.
async fn report(world: &World, node: &str) {
    let certname: Certname = node.parse().unwrap();
    let record = NodeRecord {
        facts: std::sync::Arc::new(json!({"kernel": "Linux"}).as_object().unwrap().clone()),
        trusted: std::sync::Arc::default(),
        environment: Some("production".to_owned()),
        timestamp: Timestamp::now(),
    };
    let reports = &world.state.run_reports;
    reports.record_facts(&certname, record).await.unwrap();
    let text = json!({"host": node, "status": "changed", "time": Timestamp::now().to_string(),
        "transaction_uuid": uuid::Uuid::new_v4().to_string()});
    let report = RunReport::from_json(&certname, &text.to_string(), Timestamp::now()).unwrap();
    let packed = reports.pack_report(report).unwrap();
    reports.record_report(packed).await.unwrap();
}

/// Names of the nodes that have facts, and those that have reports.
async fn known(world: &World) -> (Vec<Value>, Vec<Value>) {
    let of = |rows: Value, key: &str| -> Vec<Value> {
        let rows = rows.as_array().unwrap().clone();
        rows.into_iter().map(|row| row[key].clone()).collect()
    };
    let facts = world
        .ok("/pdb/query/v4?query=facts%5Bcertname%5D%20%7B%20%7D")
        .await;
    let reports = world.ok("/tutti/v1/reports").await;
    (of(facts, "certname"), of(reports["items"].clone(), "node"))
}

#[tokio::test]
async fn a_node_goes_with_its_certificate_and_data_and_the_request_can_be_repeated() {
    let (world, ca) = world(FOR_EVER).await;
    submit(&ca, WEB1, None);
    ca.sign(WEB1, &SignOptions::default()).unwrap();
    for node in [WEB1, "web2.example.com"] {
        report(&world, node).await;
    }
    let operator = member(&world, OPERATORS).await;
    let reply = purge(&world, &operator, json!({"certname": WEB1})).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    let told = json!({"certname": WEB1, "certificate": "cleaned", "was_known": true, "puppetdb": "none",
        "revocation": {"newly_revoked": 1, "still_connected": [], "not_asked": ["broker2.example.com"]}});
    assert_eq!(reply.json(), told);
    assert!(ca.entry(WEB1).unwrap().is_none());
    let left = (
        vec![json!("web2.example.com")],
        vec![json!("web2.example.com")],
    );
    assert_eq!(known(&world).await, left);
    let again = purge(&world, &operator, json!({"certname": WEB1})).await;
    let told =
        json!({"certname": WEB1, "certificate": "unknown", "was_known": false, "puppetdb": "none"});
    assert_eq!((again.status, again.json()), (StatusCode::OK, told));
    assert_eq!(known(&world).await, left);
    let entries = world.ok("/audit/v1/entries?start=1&limit=100").await;
    assert!(entries.to_string().contains("purge_node"), "{entries}");
}

#[tokio::test]
async fn an_interrupted_removal_is_completed_by_the_next_one() {
    let (world, ca) = world(FOR_EVER).await;
    submit(&ca, WEB1, None);
    ca.sign(WEB1, &SignOptions::default()).unwrap();
    report(&world, WEB1).await;
    world.agents.add(WEB1, Manner::default());
    let tls = std::sync::Arc::clone(&world.state.certificates.as_ref().unwrap().tls);
    let mut reloads = tls.subscribe_reloads();
    {
        let answer = purge(&world, &world.token, json!({"certname": WEB1}));
        tokio::pin!(answer);
        // The request is dropped while it waits for the end of the node's session.
        tokio::select! {
            reply = &mut answer => panic!("answered before the session ended: {}", reply.text()),
            reloaded = reloads.changed() => reloaded.unwrap(),
        }
    }
    world.agents.leaves(WEB1);
    let reply = purge(&world, &world.token, json!({"certname": WEB1})).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    assert!(ca.entry(WEB1).unwrap().is_none());
    assert_eq!(known(&world).await, (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn rights_are_needed_and_names_with_rights_are_refused() {
    let (world, ca) = world(FOR_EVER).await;
    submit(&ca, WEB1, None);
    ca.sign(WEB1, &SignOptions::default()).unwrap();
    report(&world, WEB1).await;
    for role in [VIEWERS, NOBODY] {
        let token = member(&world, role).await;
        let reply = purge(&world, &token, json!({"certname": WEB1})).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{}", reply.text());
    }
    for (name, kind) in [
        ("ops", "tutti/certificate-refused"),
        ("OPS", "tutti/certificate-refused"),
        ("..", "puppetlabs.orchestrator/validation-error"),
    ] {
        let reply = purge(&world, &world.token, json!({"certname": name})).await;
        assert_eq!(reply.kind(), kind, "{name}");
    }
    let body = json!({"certname": WEB1, "only_deactivate": true});
    let reply = purge(&world, &world.token, body).await;
    assert_eq!(reply.kind(), "puppetlabs.orchestrator/validation-error");
    assert!(ca.entry(WEB1).unwrap().is_some());
    assert_eq!(known(&world).await.1, [json!(WEB1)]);
}

#[tokio::test]
async fn without_an_authority_the_data_goes_and_the_reply_says_that_the_certificate_is_elsewhere() {
    let world = World::new().await;
    report(&world, WEB1).await;
    let reply = purge(&world, &world.token, json!({"certname": WEB1})).await;
    let told = json!({"certname": WEB1, "certificate": "elsewhere", "was_known": true, "puppetdb": "none"});
    assert_eq!((reply.status, reply.json()), (StatusCode::OK, told));
    assert_eq!(known(&world).await, (Vec::new(), Vec::new()));
}
