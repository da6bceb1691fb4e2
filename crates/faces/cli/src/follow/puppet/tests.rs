//! What is said of runs, and how often.

use super::*;
use serde_json::json;

fn told(kind: &str, details: Value, message: &str) -> Vec<String> {
    let event: Event = serde_json::from_value(json!({
        "id": "1", "type": kind, "timestamp": "2026-11-21T20:00:00Z",
        "details": details, "message": message
    }))
    .unwrap();
    plain(NodeRun::from_event("web1", &event).lines())
}

fn plain(lines: Vec<String>) -> Vec<String> {
    let lines = lines.iter();
    lines
        .map(|line| anstream::adapter::strip_str(line).to_string())
        .collect()
}

fn result() -> Value {
    json!({
        "status": "changed", "environment": "production", "configuration_version": "42",
        "transaction_uuid": "5f5a1b2c-0000-4000-8000-000000000001",
        "metrics": {"total": 30, "changed": 2, "failed": 1, "skipped": 3},
        "noop": {"noop": 4, "no_noop": 3},
        "resources": [
            {"type": "File", "title": "/etc/motd", "status": "changed",
             "file": "/code/site.pp", "line": 3, "messages": ["content changed"]},
            {"type": "Exec", "title": "x", "status": "failed", "messages": ["no such file"]},
        ],
        "resources_omitted": {"changed": 1, "failed": 0, "noop": 4},
    })
}

#[test]
fn a_success_tells_its_versions_counts_and_resources() {
    let url = "https://console.example.com/#/cm/report/abc";
    let lines = told(
        "node_finished",
        json!({"node": "web1", "detail": {"report-url": url}, "result": result()}),
        "",
    );
    let expected = [
        "✓ Finished node web1 - SUCCESS! (changed)",
        "    Environment: production  Configuration version: 42  Transaction UUID: \
         5f5a1b2c-0000-4000-8000-000000000001",
        "    Resource events: 1 failed  2 changed  20 unchanged  3 skipped  4 would change",
        "    Report: https://console.example.com/#/cm/report/abc",
        "    changed  File[/etc/motd]  /code/site.pp:3",
        "               content changed",
        "    failed   Exec[x]",
        "               no such file",
        "    … and 5 more resources",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_version_that_is_the_code_id_is_told_once() {
    let mut result = result();
    result["code_id"] = json!("urn:puppet:code-id:1:e6ef02144c0011223344;production");
    let line = |result: &Value| {
        let detail = json!({"node": "web1", "result": result});
        told("node_finished", detail, "")[1].clone()
    };
    assert_eq!(
        line(&result),
        "    Environment: production  Code: e6ef02144c  Configuration version: 42  \
         Transaction UUID: 5f5a1b2c-0000-4000-8000-000000000001"
    );
    result["configuration_version"] = result["code_id"].clone();
    assert_eq!(
        line(&result),
        "    Environment: production  Code: e6ef02144c  \
         Transaction UUID: 5f5a1b2c-0000-4000-8000-000000000001"
    );
}

#[test]
fn a_failure_an_error_and_a_skip_tell_why() {
    let detail = json!({"node": "web1", "detail": {"message": "1 resource failed"}});
    assert_eq!(
        told("node_failed", detail, "long")[0],
        "✗ Finished node web1 - FAILURE!: 1 resource failed"
    );
    let errors = json!({"_error": {"msg": "no", "details": {"errors": ["no", "line 1\nline 2"]}}});
    let detail = json!({"node": "web1", "detail": {"message": "no"}, "result": errors});
    assert_eq!(
        told("node_errored", detail, ""),
        [
            "✗ Error running puppet on web1: no",
            "    line 1",
            "    line 2"
        ]
    );
    let detail = json!({"node": "web1", "detail": {"reason": "stopped"}});
    assert_eq!(
        told("node_skipped", detail, ""),
        ["- Skipped node web1: stopped"]
    );
}

#[test]
fn a_catalog_that_does_not_compile_is_told_once() {
    let error = "Could not retrieve catalog from remote server: Error 500 on SERVER: no x";
    let message = format!("the server did not compile a catalog: {error}; mend the code");
    let result = json!({"status": "failed", "configuration_version": "",
        "environment": "production",
        "errors": [error, "Could not retrieve catalog; skipping run"]});
    let details = json!({"node": "web1", "detail": {"message": message}, "result": result});
    let event: Event = serde_json::from_value(json!({"id": "1", "type": "node_failed",
        "timestamp": "2026-11-21T20:00:00Z", "details": details, "message": ""}))
    .unwrap();
    let told = plain(NodeRun::from_event("web1", &event).lines());
    let expected = [
        format!("✗ Finished node web1 - FAILURE!: {message}"),
        "    Environment: production".to_owned(),
        "    Could not retrieve catalog; skipping run".to_owned(),
    ];
    assert_eq!(told, expected);
    // Whoever watched has read Puppet's own words.
    let seen = vec![
        error.to_owned(),
        "Could not retrieve catalog; skipping run".to_owned(),
    ];
    let told = plain(
        NodeRun::from_event("web1", &event)
            .without_seen_messages(seen)
            .lines(),
    );
    let expected = [
        "✗ Finished node web1 - FAILURE!: the server did not compile a catalog; mend the code",
        "    Environment: production",
    ];
    assert_eq!(told, expected);
    let told = plain(
        NodeRun::from_event("web1", &event)
            .without_seen_messages(vec![message])
            .lines(),
    );
    assert_eq!(told[0], "✗ Finished node web1 - FAILURE!");
    let wrapped = vec![format!("{error}\nWrapped exception:\nno")];
    let told = plain(
        NodeRun::from_event("web1", &event)
            .without_seen_messages(wrapped)
            .lines(),
    );
    assert_eq!(told[0], expected[0]);
}

#[test]
fn nothing_that_a_report_says_moves_the_cursor() {
    let evil = "\u{1b}[2J\r\u{202e}";
    let mut result = result();
    for key in [
        "environment",
        "configuration_version",
        "transaction_uuid",
        "status",
    ] {
        result[key] = evil.into();
    }
    let resource = json!({"type": evil, "title": evil, "status": evil, "file": evil,
        "line": 1, "messages": [evil]});
    result["resources"] = json!([resource]);
    result["errors"] = json!([evil]);
    let detail = json!({"report-url": evil, "message": evil});
    for kind in [
        "node_finished",
        "node_failed",
        "node_errored",
        "node_skipped",
        evil,
    ] {
        let details = json!({"detail": detail, "result": result});
        let event: Event = serde_json::from_value(json!({
            "id": "1", "type": kind, "timestamp": "2026-11-21T20:00:00Z",
            "details": details, "message": evil
        }))
        .unwrap();
        for line in NodeRun::from_event(evil, &event).lines() {
            let shown = anstream::adapter::strip_str(&line).to_string();
            assert!(!shown.contains(['\u{1b}', '\r', '\u{202e}']), "{shown:?}");
            assert!(!line.contains("\u{1b}[2J"), "{line:?}");
        }
    }
}

#[test]
fn odd_values_are_left_out() {
    let odd = json!({"metrics": "x", "resources": {}, "errors": 5, "noop": null,
        "configuration_version": [], "transaction_uuid": null});
    let lines = told("node_finished", json!({"node": "web1", "result": odd}), "");
    assert_eq!(lines, ["✓ Finished node web1 - SUCCESS! (no status)"]);
}
