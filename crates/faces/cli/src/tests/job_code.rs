//! `job run` and `job show`: which versions of the code the nodes got.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::{Answers, Fake, stream};
use super::jobs::{DEPLOY, event, job, nodes, result};

const OLD: &str = "urn:puppet:code-id:1:ba336c310770a378d821542e43c715bc43cbbc1f;production";
const NEW: &str = "urn:puppet:code-id:1:41db491b6e6e75bf893e24101cc18510cb623d6a;production";

/// A job of two nodes, the second of which got this code; the first got [`OLD`].
fn with_code(second: &str) -> Answers {
    let mut results = [result("changed"), result("unchanged")];
    results[0]["code_id"] = OLD.into();
    results[1]["code_id"] = second.into();
    let mut listed = nodes();
    for (node, result) in results.iter().enumerate() {
        listed["items"][node]["state"] = "finished".into();
        listed["items"][node]["details"] = json!({});
        listed["items"][node]["result"] = result.clone();
    }
    let ended = |id, node: &str, result: &Value| {
        let details = json!({"node": node, "detail": {}, "result": result});
        event(id, "node_finished", details)
    };
    let events = stream(&[
        ended(1, "web1", &results[0]),
        ended(2, "web2", &results[1]),
        event(3, "job_finished", json!({})),
    ]);
    let job = job("finished", json!({"finished": 2}));
    vec![
        (DEPLOY, 202, json!({"job": {"id": "", "name": "81"}})),
        ("GET /orchestrator/v1/jobs/81", 200, job),
        ("GET /orchestrator/v1/jobs/81/nodes", 200, listed),
        ("GET /orchestrator/v1/events/stream", 200, events),
    ]
}

#[tokio::test]
async fn whoever_watches_is_told_at_the_end_that_nodes_got_different_code() {
    let fake = Fake::start(with_code(NEW)).await;
    let ran = fake
        .run(&["tutti", "job", "run", "-n", "web1,web2", "-e", "production"])
        .await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert_snapshot!("run", ran.printed);
    let asked = fake.asked();
    assert!(
        !asked.iter().any(|asked| asked.what.ends_with("/nodes")),
        "nothing more is asked for: {asked:#?}"
    );
    let fake = Fake::start(with_code(OLD)).await;
    let ran = fake.run(&["tutti", "job", "run", "-n", "web1,web2"]).await;
    assert!(!ran.printed.contains("mixed"), "{}", ran.printed);
}

#[tokio::test]
async fn a_job_shows_which_code_its_runs_used() {
    let show = ["tutti", "job", "show", "81"];
    let fake = Fake::start(with_code(NEW)).await;
    let ran = fake.run(&show).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""));
    assert_snapshot!("show", ran.printed);
    let json = fake.run(&[&show[..], &["--format", "json"]].concat()).await;
    let document: Value = serde_json::from_str(&json.printed).unwrap();
    assert_eq!(document["items"][1]["result"]["code_id"], NEW);
    let fake = Fake::start(with_code(OLD)).await;
    let ran = fake.run(&show).await;
    let line = "\ncode         production ba336c3107\n";
    assert!(ran.printed.contains(line), "{}", ran.printed);
}
