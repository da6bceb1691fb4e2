//! A PuppetDB that answers, and the ways in which it can fail to.

use std::time::Duration;

use inventory::defaults::FACT_NODES;
use inventory::{Inventory, NodeQuery, QueryError, QueryErrorOrigin};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::fake::{Authority, Fake, Manner, client};
use crate::site::certname;

const NODES: &str = "nodes[certname] { }";

fn says(body: serde_json::Value) -> Manner {
    Manner::Says(200, body.to_string())
}

/// A PuppetDB with this behaviour, and its client.
async fn site(manner: Manner) -> (Fake, Inventory) {
    let authority = Authority::new();
    let mut fake = Fake::start(authority.files("localhost"), manner).await;
    let inventory = client(&[fake.url()], authority.files("tutti"));
    fake.authority = Some(authority);
    (fake, inventory)
}

async fn fails(inventory: &Inventory) -> QueryError {
    match inventory.certnames(&NodeQuery::from_text(NODES)).await {
        Ok(names) => panic!("an answer: {names:?}"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn questions_are_handed_on_as_they_are() {
    let (fake, inventory) = site(says(json!([{"certname": "b"}, {"certname": "a"}]))).await;
    let names = inventory
        .certnames(&NodeQuery::from_text(NODES))
        .await
        .unwrap();
    assert_eq!(names, [certname("b"), certname("a")]);
    assert_eq!(fake.last(), json!({"query": NODES}));
    let ast = json!(["from", "resources", ["=", "type", "Class"]]);
    inventory
        .query(&NodeQuery::from_ast(ast.clone()))
        .await
        .unwrap();
    assert_eq!(fake.last(), json!({"query": ast}));
    inventory.environment_nodes("x\"] { }").await.unwrap();
    assert_eq!(
        fake.last()["query"][2][2][2],
        "x\"] { }",
        "a value, not PQL"
    );
    assert!(inventory.health().await.error.is_none());
}

#[tokio::test]
async fn the_engines_questions_do_not_stand_behind_those_of_people() {
    let (_fake, inventory) = site(says(json!([{"certname": "a"}]))).await;
    let query = NodeQuery::from_text(NODES);
    // Each query has a permit or waits for one, and makes no progress unless it is polled.
    let mut asked: Vec<_> = (0..100)
        .map(|_| Box::pin(inventory.query(&query)))
        .collect();
    for question in &mut asked {
        assert!(futures_util::poll!(question).is_pending());
    }
    assert_eq!(inventory.certnames(&query).await.unwrap(), [certname("a")]);
}

#[tokio::test]
async fn facts_of_a_node_are_read_from_its_inventory() {
    let row = json!([{"certname": "a", "environment": "test", "timestamp": "2026-11-21T06:00:00.5Z",
        "facts": {"kernel": "Linux"}, "trusted": {"certname": "a"}}]);
    let (_fake, inventory) = site(says(row)).await;
    let record = inventory.facts(&certname("a")).await.unwrap().unwrap();
    assert_eq!(record.facts["kernel"], "Linux");
    assert_eq!(record.environment.as_deref(), Some("test"));
    let (_fake, inventory) = site(says(json!([]))).await;
    assert_eq!(inventory.facts(&certname("a")).await.unwrap(), None);
}

#[tokio::test]
async fn one_fact_of_many_nodes_is_one_question_and_comes_in_the_order_asked() {
    let rows = json!([{"certname": "b", "value": "8.10.0"}, {"certname": "a", "value": 7}]);
    let (fake, inventory) = site(says(rows)).await;
    let nodes = ["a", "silent", "b"].map(certname);
    let told = inventory.fact_of_each("puppetversion", &nodes).await;
    assert_eq!(told.unwrap(), [Some(json!(7)), None, Some(json!("8.10.0"))]);
    let filter = json!([
        "and",
        ["=", "name", "puppetversion"],
        ["in", "certname", ["array", ["a", "silent", "b"]]]
    ]);
    let query = json!(["from", "facts", ["extract", ["certname", "value"], filter]]);
    assert_eq!(fake.last(), json!({ "query": query }));
    assert_eq!(fake.asked(), 1);

    let many: Vec<_> = (0..=FACT_NODES)
        .map(|n| certname(&format!("n{n}")))
        .collect();
    let told = inventory
        .fact_of_each("puppetversion", &many)
        .await
        .unwrap();
    assert_eq!(told.len(), many.len());
    assert_eq!(
        fake.asked(),
        3,
        "two more, none of them longer than the bound"
    );

    let (_fake, inventory) = site(says(json!([{"certname": "a"}, {"value": 1}]))).await;
    let error = inventory.fact_of_each("puppetversion", &nodes).await;
    assert!(
        matches!(error, Err(QueryError::Garbage { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_report_is_looked_for_until_it_is_there() {
    let row = json!([{"hash": "h", "transaction_uuid": "u", "status": "changed", "noop": false,
        "start_time": "2026-11-21T06:00:00.000Z",
        "metrics": {"href": "x", "data": [{"category": "resources", "name": "failed", "value": 1}]}}]);
    let manner = Manner::Later(2, Box::new(says(json!([]))), Box::new(says(row)));
    let (fake, inventory) = site(manner).await;
    let name = certname("a");
    let report = inventory
        .wait_for_report(&name, "u", Duration::from_secs(30))
        .await;
    let report = report.unwrap().unwrap();
    assert_eq!(report.status.as_deref(), Some("changed"));
    assert_eq!(report.metrics[0].value, json!(1));
    assert_eq!(fake.asked(), 3);
    let (fake, inventory) = site(says(json!([]))).await;
    let none = inventory.wait_for_report(&name, "u", Duration::ZERO).await;
    assert_eq!(none.unwrap(), None);
    assert_eq!(
        fake.asked(),
        1,
        "at least once, and not after the time is over"
    );
}

#[tokio::test]
async fn a_puppetdb_that_starts_is_waited_for_with_a_report() {
    let row = json!([{"transaction_uuid": "u"}]);
    let starting = Manner::Says(503, "PuppetDB is currently down".to_owned());
    let manner = Manner::Later(1, Box::new(starting), Box::new(says(row)));
    let (_fake, inventory) = site(manner).await;
    let name = certname("a");
    let report = inventory
        .wait_for_report(&name, "u", Duration::from_secs(30))
        .await;
    assert!(report.unwrap().is_some());
}

/// A client whose PuppetDB does not run.
async fn without_puppetdb() -> (Authority, Inventory) {
    let authority = Authority::new();
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let inventory = client(
        &[format!("https://localhost:{port}")],
        authority.files("tutti"),
    );
    (authority, inventory)
}

#[tokio::test]
async fn a_puppetdb_that_stays_away_is_not_waited_for_with_a_report() {
    let (_authority, inventory) = without_puppetdb().await;
    let (name, patience) = (certname("a"), Duration::from_secs(30));
    let asked = tokio::time::timeout(
        patience / 2,
        inventory.wait_for_report(&name, "u", patience),
    )
    .await;
    let error = asked.expect("it is given up before").unwrap_err();
    assert_eq!(error.origin(), QueryErrorOrigin::PuppetDb, "{error}");
}

#[tokio::test]
async fn puppetdb_down_is_unreachable() {
    let (_authority, inventory) = without_puppetdb().await;
    let error = fails(&inventory).await;
    assert!(matches!(error, QueryError::Unreachable { .. }), "{error}");
    assert_eq!(error.origin(), QueryErrorOrigin::PuppetDb);
    assert!(error.to_string().contains("connection refused"), "{error}");
    assert!(inventory.health().await.error.is_some());
}

#[tokio::test]
async fn puppetdb_slow_is_a_timeout() {
    for manner in [Manner::Mute, Manner::Stalls] {
        let (_fake, inventory) = site(manner).await;
        let error = fails(&inventory).await;
        assert!(matches!(error, QueryError::Timeout { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_certificate_of_either_side_is_told_as_one() {
    let (authority, other) = (Authority::new(), Authority::new());
    let mut foreign_ca = authority.files("tutti");
    foreign_ca.ca = other.files("x").ca;
    foreign_ca.crl = None;
    let mut foreign_client = other.files("tutti");
    foreign_client.ca = authority.files("y").ca;
    foreign_client.crl = None;
    let mut missing = authority.files("z");
    missing.key = "/nonexistent.pem".into();
    for (server, files) in [
        ("another.example", authority.files("tutti")),
        ("localhost", foreign_ca),
        ("localhost", foreign_client),
        ("localhost", missing),
    ] {
        let fake = Fake::start(authority.files(server), says(json!([]))).await;
        let error = fails(&client(&[fake.url()], files)).await;
        assert!(
            matches!(error, QueryError::Certificate { .. }),
            "{server}: {error:?}"
        );
        assert_eq!(fake.asked(), 0);
    }
}

#[tokio::test]
async fn garbage_is_told_as_such() {
    for body in ["<html>\u{1b}[31m", "", "{\"a\": 1}", "[1", "null"] {
        let (_fake, inventory) = site(Manner::Says(200, body.to_owned())).await;
        let error = fails(&inventory).await;
        assert!(
            matches!(error, QueryError::Garbage { .. }),
            "{body:?}: {error}"
        );
        assert!(!error.to_string().contains('\u{1b}'), "{error}");
    }
    let (_fake, inventory) = site(says(json!([{"certname": "../../etc"}]))).await;
    let error = fails(&inventory).await;
    assert!(matches!(error, QueryError::BadCertname(_)), "{error}");
    let (_fake, inventory) = site(says(json!([{"facts": 7}]))).await;
    let error = inventory.facts(&certname("a")).await.unwrap_err();
    assert!(matches!(error, QueryError::Garbage { .. }), "{error}");
}

#[tokio::test]
async fn something_else_on_the_port_is_an_error_and_no_hang() {
    let authority = Authority::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.write_all(b"220 mail.example ESMTP\r\n").await;
        }
    });
    let inventory = client(
        &[format!("https://localhost:{port}")],
        authority.files("tutti"),
    );
    let error = fails(&inventory).await;
    assert_eq!(error.origin(), QueryErrorOrigin::PuppetDb, "{error:?}");
}

#[tokio::test]
async fn a_half_answer_is_no_answer() {
    let (_fake, inventory) = site(Manner::Half).await;
    let error = fails(&inventory).await;
    assert!(matches!(error, QueryError::Garbage { .. }), "{error:?}");
    assert!(error.to_string().contains("broke off"), "{error}");
}

#[tokio::test]
async fn a_huge_answer_is_cut() {
    let (_fake, inventory) = site(Manner::Endless).await;
    let error = fails(&inventory).await;
    assert!(matches!(error, QueryError::TooLarge { .. }), "{error:?}");
    assert_eq!(error.origin(), QueryErrorOrigin::Query);
}

#[tokio::test]
async fn puppetdbs_own_words_come_through_clipped() {
    let words = "PQL parse error at line 1, column 7:\n\nnodes {\n      ^\n";
    for body in [words.to_owned(), json!({"error": words}).to_string()] {
        let (_fake, inventory) = site(Manner::Says(400, body)).await;
        let error = fails(&inventory).await;
        assert!(
            matches!(error, QueryError::QueryInvalid { .. }),
            "{error:?}"
        );
        assert_eq!(error.origin(), QueryErrorOrigin::Query);
        assert!(error.to_string().contains("line 1, column 7"), "{error}");
    }
    let (_fake, inventory) = site(Manner::Says(400, "x".repeat(1 << 20))).await;
    assert!(fails(&inventory).await.to_string().len() < 2_000);
    let (_fake, inventory) = site(Manner::Says(403, "not in the whitelist".to_owned())).await;
    let error = fails(&inventory).await;
    assert!(
        matches!(error, QueryError::Refused { status: 403, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = site(says(json!([{"certname": "evil"}]))).await;
    let (_fake, inventory) = site(Manner::Redirects(elsewhere.0.url())).await;
    let error = fails(&inventory).await;
    assert!(
        matches!(error, QueryError::Refused { status: 307, .. }),
        "{error:?}"
    );
    assert_eq!(elsewhere.0.asked(), 0);
}

#[tokio::test]
async fn the_next_server_answers_and_the_failed_one_is_spared() {
    let authority = Authority::new();
    let broken = Manner::Says(502, "bad gateway".to_owned());
    let first = Fake::start(authority.files("localhost"), broken).await;
    let second = Fake::start(
        authority.files("localhost"),
        says(json!([{"certname": "a"}])),
    )
    .await;
    let inventory = client(&[first.url(), second.url()], authority.files("tutti"));
    for _ in 0..3 {
        let names = inventory
            .certnames(&NodeQuery::from_text(NODES))
            .await
            .unwrap();
        assert_eq!(names, [certname("a")]);
    }
    assert_eq!((first.asked(), second.asked()), (1, 3));
}

#[tokio::test]
async fn when_all_fail_each_cause_is_told() {
    let authority = Authority::new();
    let first = Manner::Says(502, "bad gateway".to_owned());
    let first = Fake::start(authority.files("localhost"), first).await;
    let second = Fake::start(authority.files("localhost"), Manner::Half).await;
    let inventory = client(&[first.url(), second.url()], authority.files("tutti"));
    let error = fails(&inventory).await;
    assert_eq!(error.origin(), QueryErrorOrigin::PuppetDb);
    let told = error.to_string();
    assert!(
        told.contains("bad gateway") && told.contains("broke off"),
        "{told}"
    );
}

#[tokio::test]
async fn a_wrong_query_is_not_asked_of_the_next_server() {
    let authority = Authority::new();
    let wrong = Manner::Says(400, "no".to_owned());
    let first = Fake::start(authority.files("localhost"), wrong).await;
    let second = Fake::start(authority.files("localhost"), says(json!([]))).await;
    let inventory = client(&[first.url(), second.url()], authority.files("tutti"));
    fails(&inventory).await;
    assert_eq!(second.asked(), 0);
}

#[tokio::test]
async fn a_certificate_that_was_renewed_is_used_without_a_restart() {
    let (authority, other) = (Authority::new(), Authority::new());
    let fake = Fake::start(authority.files("localhost"), says(json!([]))).await;
    let mut files = authority.files("tutti");
    let (good, wrong) = (files.cert.clone(), other.files("tutti"));
    files.cert.clone_from(&wrong.cert);
    files.key.clone_from(&wrong.key);
    let renewed = (
        std::fs::read(&good).unwrap(),
        std::fs::read(good.with_extension("key")).unwrap(),
    );
    let inventory = client(&[fake.url()], files);
    assert!(matches!(
        fails(&inventory).await,
        QueryError::Certificate { .. }
    ));
    std::fs::write(&wrong.cert, renewed.0).unwrap();
    std::fs::write(&wrong.key, renewed.1).unwrap();
    inventory.query(&NodeQuery::from_text(NODES)).await.unwrap();
}
