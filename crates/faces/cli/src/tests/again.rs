//! `--failed-of`, `--unreached-of`, filters of jobs, and `node show`.

use serde_json::{Value, json};

use super::fake::{Answers, Fake};
use super::jobs::{DEPLOY, job};

const TASK: &str = "POST /orchestrator/v1/command/task";
const JOBS: &str = "GET /orchestrator/v1/jobs";
const NODES: &str = "GET /orchestrator/v1/jobs/81/nodes";

/// A job whose nodes, in whatever state is asked for, are `web1` and `web2`.
fn answers(job: Value) -> Answers {
    let node = |name: &str| {
        json!({"name": name, "state": "failed", "transport": "pcp", "latest-event-id": 4, "details": {},
            "result": null})
    };
    let nodes =
        json!({"next-events": {"id": "", "event": "6"}, "items": [node("web1"), node("web2")]});
    let created = json!({"job": {"id": "", "name": "82"}});
    vec![
        (DEPLOY, 202, created.clone()),
        (TASK, 202, created),
        ("GET /orchestrator/v1/jobs/81", 200, job),
        (NODES, 200, nodes),
    ]
}

fn task_job(sensitive: Value) -> Value {
    let mut told = job("failed", json!({"failed": 2}));
    told["command"] = json!("task");
    told["type"] = json!("task");
    told["options"] = json!({"task": "package", "params": {"name": "vim"}, "sensitive": sensitive,
        "noop": true, "scope": {"nodes": ["web1"]}});
    told
}

/// The states that were asked for.
fn states(fake: &Fake) -> Vec<String> {
    let asked = fake.asked();
    let asked = asked.iter().filter(|asked| asked.what == NODES);
    let state = |query: &str| {
        query
            .split('&')
            .find_map(|pair| pair.strip_prefix("state=").map(str::to_owned))
    };
    asked.filter_map(|asked| state(&asked.query)).collect()
}

#[tokio::test]
async fn puppet_runs_again_where_it_did_not_succeed() {
    for (flag, expected) in [
        ("--failed-of", &["failed", "errored", "skipped"][..]),
        ("--unreached-of", &["errored", "skipped"]),
    ] {
        let fake = Fake::start(answers(job("failed", json!({"failed": 2})))).await;
        let ran = fake
            .run(&["tutti", "job", "run", flag, "81", "--no-wait"])
            .await;
        assert_eq!((ran.code, ran.printed.as_str()), (0, "82\n"), "{ran:?}");
        assert_eq!(states(&fake), expected);
        let nodes = fake.body(DEPLOY)["scope"]["nodes"].clone();
        let nodes: Vec<_> = nodes
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node.as_str().unwrap())
            .collect();
        assert!(
            nodes.contains(&"web1") && nodes.contains(&"web2"),
            "{nodes:?}"
        );
    }
}

#[tokio::test]
async fn a_task_runs_again_as_it_was_or_another_one_does() {
    let fake = Fake::start(answers(task_job(json!([])))).await;
    let ran = fake
        .run(&["tutti", "task", "run", "--failed-of", "81", "--no-wait"])
        .await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    let asked = fake.body(TASK);
    assert_eq!(
        (&asked["task"], &asked["params"]),
        (&json!("package"), &json!({"name": "vim"}))
    );
    assert_eq!(
        (&asked["noop"], &asked["environment"]),
        (&json!(true), &json!("production"))
    );
}

#[tokio::test]
async fn what_cannot_run_again_is_said() {
    let refused = |job: Value, words: &'static [&'static str]| async move {
        let fake = Fake::start(answers(job)).await;
        let words = [&["tutti"], words, &["--failed-of", "81"]].concat();
        let ran = fake.run(&words).await;
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            fake.asked()
                .iter()
                .all(|asked| asked.what != TASK && asked.what != DEPLOY)
        );
        ran.error
    };
    let run: &[&str] = &["task", "run"];
    assert!(
        refused(task_job(json!(["password"])), run)
            .await
            .contains("secret parameters")
    );
    assert!(
        refused(job("failed", json!({})), run)
            .await
            .contains("runs no task")
    );
    assert!(
        refused(job("running", json!({})), &["job", "run"])
            .await
            .contains("job show 81 --follow")
    );
    let words = &["task", "run", "name=vim"];
    assert!(
        refused(task_job(json!([])), words)
            .await
            .contains("in the place of the task's name")
    );

    let mut none = answers(job("finished", json!({})));
    none.retain(|(what, ..)| *what != NODES);
    none.push((
        NODES,
        200,
        json!({"next-events": {"id": "", "event": "6"}, "items": []}),
    ));
    let ran = Fake::start(none)
        .await
        .run(&["tutti", "job", "run", "--failed-of", "81"])
        .await;
    assert!(
        ran.error.contains("nothing is left to run again"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn jobs_and_their_nodes_are_filtered_by_the_server() {
    let list = json!({"items": [], "pagination": {"limit": 50, "offset": 0, "order_by": "name",
        "order": "desc", "total": 0}});
    let fake = Fake::start(vec![(JOBS, 200, list)]).await;
    let words = [
        "tutti", "job", "list", "--node", "web1", "--owner", "anna", "--state", "failed",
    ];
    let ran = fake.run(&words).await;
    assert_eq!(
        (ran.code, ran.printed.as_str()),
        (
            0,
            "No job fits; `tutti job list` without filters lists all.\n"
        )
    );
    let query = &fake.asked()[0].query;
    assert!(
        query.ends_with("limit=50&node=web1&owner=anna&state=failed"),
        "{query}"
    );

    let fake = Fake::start(answers(job("failed", json!({"failed": 2})))).await;
    let ran = fake
        .run(&["tutti", "job", "show", "81", "--state", "failed,errored"])
        .await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(states(&fake), ["failed", "errored"]);
}

fn site(item: Value, forbidden: bool) -> Answers {
    let refused = json!({"kind": "puppetlabs.rbac/permission-denied", "msg": "no", "details": {}});
    let or_refused = |answer: Value| {
        if forbidden {
            (403, refused.clone())
        } else {
            (200, answer)
        }
    };
    let facts = json!([
        {"name": "os", "value": {"name": "Debian", "release": {"full": "12.5"}}},
        {"name": "networking", "value": {"ip": "192.0.2.7"}}, {"name": "virtual", "value": "kvm"}]);
    let (status, facts) = or_refused(facts);
    let (grouped, groups) = or_refused(json!([]));
    let classified = json!({"name": "web1", "groups": ["g"], "environment": "production", "classes": {},
        "parameters": {}, "config_data": {}});
    let (known, classified) = or_refused(classified);
    let jobs = json!({"items": [job("finished", json!({"finished": 2}))],
        "pagination": {"limit": 5, "offset": 0, "order_by": "name", "order": "desc", "total": 1}});
    let run = json!({"id": "9f86d081884c7d659a2feaa0c55ad015", "node": "web1", "status": "changed",
        "noop": false, "start_time": "2026-11-21T20:00:00.000Z", "end_time": "2026-11-21T20:00:04.500Z",
        "receive_time": "2026-11-21T20:00:05.000Z", "transaction_uuid": "u"});
    let (reported, reports) = or_refused(json!({"items": [run]}));
    let certificate = json!({"name": "web1", "state": "signed", "dns_alt_names": [],
        "subject_alt_names": [], "authorization_extensions": {}, "fingerprint": "AA", "fingerprints": {},
        "serial_number": 3, "not_before": "2026-11-21T09:55:17UTC", "not_after": "2031-11-21T09:55:17UTC"});
    let (certified, certificate) = or_refused(certificate);
    vec![
        ("GET /tutti/v1/reports", reported, reports),
        ("GET /orchestrator/v1/inventory/web1", 200, item),
        ("POST /pdb/query/v4", status, facts),
        ("GET /classifier-api/v1/groups", grouped, groups),
        (
            "POST /classifier-api/v1/classified/nodes/web1",
            known,
            classified,
        ),
        (JOBS, 200, jobs),
        (
            "GET /puppet-ca/v1/certificate_status/web1",
            certified,
            certificate,
        ),
    ]
}

#[tokio::test]
async fn a_node_that_has_only_puppet_is_no_fault() {
    let item = json!({"name": "web1", "connected": false, "absence": "never-connected"});
    let mut answers = site(item, false);
    let run = &mut answers[0].2["items"][0];
    run["catalog_uuid"] = json!("e176b626-86b6-437d-a497-e6d87317fb68");
    run["code_id"] = json!("urn:puppet:code-id:1:aa;production");
    run["configuration_version"] = json!("urn:puppet:code-id:1:aa;production");
    let fake = Fake::start(answers).await;
    let ran = fake.run(&["tutti", "node", "show", "web1"]).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    insta::assert_snapshot!(ran.printed);
}

#[tokio::test]
async fn a_node_is_shown_with_what_is_known_of_it() {
    let item = json!({"name": "web1", "connected": true, "broker": "pcp://b/server",
        "timestamp": "2026-11-21T20:00:00.000Z", "agent_version": "1.2.3"});
    let fake = Fake::start(site(item, false)).await;
    let ran = fake.run(&["tutti", "node", "show", "web1"]).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    insta::assert_snapshot!(ran.printed);
    let ran = fake
        .run(&["tutti", "node", "show", "web1", "--format", "json"])
        .await;
    let document: Value = serde_json::from_str(&ran.printed).unwrap();
    assert_eq!(document["facts"]["virtual"], "kvm");
    assert_eq!(
        (&document["connected"], &document["groups"]),
        (&json!(true), &json!(["g"]))
    );
    assert_eq!(document["jobs"][0]["name"], "81");
    assert_eq!(document["last_run"]["status"], "changed");
}

#[tokio::test]
async fn a_node_without_a_connection_says_why_and_parts_without_a_right_are_left_out() {
    for (absence, part) in [
        (
            "never-connected",
            "no agent of this name ever connected here",
        ),
        ("away", "systemctl status tutti-agent"),
        ("returning", "expected back within two minutes"),
        ("over-ssh", "reached over SSH"),
    ] {
        let item = json!({"name": "web1", "connected": false, "absence": absence});
        let ran = Fake::start(site(item, true))
            .await
            .run(&["tutti", "node", "show", "web1"])
            .await;
        assert_eq!((ran.code, ran.error.as_str()), (1, ""), "{ran:?}");
        assert!(
            ran.printed.contains(part) && !ran.printed.contains("Facts"),
            "{}",
            ran.printed
        );
    }
}
