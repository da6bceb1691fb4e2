//! Reading the results of jobs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::node_run::{NodeRun, RequestedRerun, RunEnd};

fn read(status: &str, value: Value) -> NodeRun {
    let result = json!({"target": "a", "action": "deploy", "status": status, "value": value});
    NodeRun::from_result(&result).unwrap()
}

fn resource(title: &str, status: &str, message: &str) -> Value {
    json!({"type": "File", "title": title, "status": status, "messages": [message]})
}

#[test]
fn a_result_tells_changes_and_requests() {
    let value = json!({
        "status": "changed",
        "resources": [resource("/b", "changed", "x"), resource("/a", "changed", "y")],
        "reruns": [{"key": "peers", "delta_s": 2.5}, {"delta_s": 1}, {"key": "again", "delta_s": -1}],
    });
    let run = read("success", value);
    assert_eq!(run.end, RunEnd::Succeeded { is_changed: true });
    assert_eq!(run.changes.names, ["File[/a]", "File[/b]"]);
    assert!(run.changes.is_complete);
    let rerun = |key: &str, seconds| RequestedRerun {
        key: key.to_owned(),
        delta: Duration::from_secs_f64(seconds),
    };
    assert_eq!(run.reruns, [rerun("peers", 2.5), rerun("again", 0.0)]);
}

#[test]
fn fingerprints_differ_with_resource_result_and_message() {
    let fingerprint = |resources: &[Value]| {
        let value = json!({"status": "changed", "resources": resources});
        read("success", value).changes.fingerprint
    };
    let one = resource("/a", "changed", "from 1 to 2");
    let two = resource("/b", "changed", "from 1 to 2");
    let base = fingerprint(std::slice::from_ref(&one));
    assert_eq!(
        base,
        fingerprint(&[one.clone(), resource("/x", "noop", "m")])
    );
    let corrective = resource("/a", "changed", "from 1 to 2 (corrective)");
    assert_eq!(base, fingerprint(&[corrective]));
    let requester =
        json!({"type": "Exec", "title": "again-delta-x", "status": "changed", "messages": []});
    assert_eq!(base, fingerprint(&[one.clone(), requester]));
    assert_eq!(
        fingerprint(&[one.clone(), two.clone()]),
        fingerprint(&[two.clone(), one])
    );
    for other in [
        resource("/a", "failed", "from 1 to 2"),
        resource("/a", "changed", "from 2 to 1"),
        two,
        resource("/a\",\"changed", "changed", "from 1 to 2"),
    ] {
        assert_ne!(base, fingerprint(std::slice::from_ref(&other)), "{other}");
    }
}

#[test]
fn failures_without_resources_differ_by_what_was_logged() {
    let fingerprint = |status: &str, error: &str| {
        let value = json!({"status": status, "transaction_uuid": "x", "errors": [error]});
        read("failure", value).changes.fingerprint
    };
    let base = fingerprint("failed", "need 3 peers, have 1");
    assert_eq!(base, fingerprint("failed", "need 3 peers, have 1"));
    assert_ne!(base, fingerprint("failed", "need 3 peers, have 2"));
    assert_ne!(base, fingerprint("unchanged", ""));
}

#[test]
fn results_with_cut_messages_are_not_complete() {
    let complete = |messages: Value| {
        let resource =
            json!({"type": "File", "title": "/a", "status": "changed", "messages": messages});
        let value = json!({"status": "changed", "resources": [resource]});
        read("success", value).changes.is_complete
    };
    assert!(complete(json!(["a", "b", "c"])));
    assert!(!complete(json!(["a", "b", "c", "d"])));
    assert!(!complete(json!(["a long text…"])));
}

#[test]
fn results_without_all_resources_are_not_complete() {
    let complete = |omitted: Value| {
        let value = json!({"status": "changed", "resources_omitted": omitted});
        read("success", value).changes.is_complete
    };
    assert!(complete(Value::Null));
    assert!(complete(json!({"failed": 0, "changed": 0, "noop": 4})));
    assert!(!complete(json!({"failed": 0, "changed": 3, "noop": 0})));
}

#[test]
fn ends_without_success_are_explained() {
    let reported = |resources: Value| {
        let error = json!({"kind": "tutti/puppet-run-failed", "msg": "no catalog", "details": {}});
        json!({"status": "failed", "transaction_uuid": "x", "resources": resources, "_error": error})
    };
    let failed = reported(json!([
        resource("/a", "failed", "no"),
        resource("/b", "changed", "x")
    ]));
    let message = "File[/a] failed".to_owned();
    assert_eq!(read("failure", failed).end, RunEnd::Failed { message });
    let message = "no catalog".to_owned();
    let failed = reported(json!([]));
    assert_eq!(read("failure", failed).end, RunEnd::Failed { message });
    let error = json!({"_error": {
        "kind": "tutti/dependency-failed", "msg": "waits", "details": {"waits_for": "b", "failed": "c"},
    }});
    let (message, failed) = ("waits".to_owned(), "c".to_owned());
    assert_eq!(
        read("failure", error).end,
        RunEnd::Skipped { message, failed }
    );
}

#[test]
fn hostile_results_are_no_panic() {
    for value in [
        Value::Null,
        json!([]),
        json!("x"),
        json!({"reruns": {"key": 1}, "resources": "x", "resources_omitted": [], "_error": 7}),
        json!({"reruns": [{"key": "a", "delta_s": 1e300}, null, 5]}),
    ] {
        let run = read("failure", value);
        assert!(run.reruns.iter().all(|it| it.delta == Duration::ZERO));
    }
    assert_eq!(NodeRun::from_result(&json!({"target": 5})), None);
    let many: Vec<Value> = (0..1_000)
        .map(|key| json!({"key": key.to_string()}))
        .collect();
    assert_eq!(read("success", json!({"reruns": many})).reruns.len(), 64);
}
