//! Encoded replies, and the decoding of replies of other servers.

use api_types::{
    ErrorBody, Job, JobNode, LoginRequest, PreciseTimestamp, RevokeTokens, Timestamp, TokenReply,
};
use serde_json::json;

#[test]
fn times_have_the_two_forms() {
    let ms = 1_795_249_800_641;
    assert_eq!(json!(Timestamp::from_ms(ms)), "2026-11-21T08:30:00Z");
    assert_eq!(
        json!(PreciseTimestamp::from_ms(ms)),
        "2026-11-21T08:30:00.641Z"
    );
    let read: Timestamp = serde_json::from_value(json!("2026-11-21T09:30:00+01:00")).unwrap();
    assert_eq!(read, Timestamp::from_ms(1_795_249_800_000));
    // Times beyond the calendar are moved to its ends.
    assert!(
        Timestamp::from_ms(i64::MAX)
            .to_string()
            .starts_with("9999-")
    );
}

#[test]
fn a_job_as_documented_is_read_and_its_duration_stays_text() {
    let documented = json!({
        "id": "https://o.example.com:8143/orchestrator/v1/jobs/1234", "name": "1234",
        "state": "failed", "command": "deploy", "type": "deploy",
        "options": {"concurrency": null, "noop": false},
        "owner": {"id": "751a8f7e-b53a-4ccd-9f4f-e93db6aa38ec", "login": "fred"},
        "description": "deploy the web app", "environment": {"name": "production"},
        "timestamp": "2016-05-20T16:45:31Z", "started_timestamp": "2016-05-20T16:41:15Z",
        "finished_timestamp": "2016-05-20T16:45:31Z", "duration": "256.0", "node_count": 5,
        "node_states": {"finished": 2, "errored": 1, "failed": 1, "running": 1},
        "nodes": {"id": "n"}, "report": {"id": "r"}, "events": {"id": "e"}, "userdata": {},
        "something_new": true
    });
    let job: Job = serde_json::from_value(documented.clone()).unwrap();
    assert_eq!(job.duration, Some(256.0));
    let written = json!(job);
    assert_eq!(written["duration"], "256.0");
    assert_eq!(written["created_timestamp"], json!(null));
    assert!(written.get("status").is_none());
    let mut number = documented;
    number["duration"] = json!(256);
    assert_eq!(
        serde_json::from_value::<Job>(number).unwrap().duration,
        Some(256.0)
    );
}

#[test]
fn a_node_has_no_result_until_it_ended() {
    let node: JobNode =
        serde_json::from_value(json!({"name": "a", "state": "running", "duration": "1.5"}))
            .unwrap();
    let written = json!(node);
    assert!(written.get("result").is_none());
    assert_eq!(written["duration"], 1.5);
    assert_eq!(written["latest-event-id"], 0);
    assert_eq!(written["details"], json!({}));
}

#[test]
fn an_error_body_without_details_is_read() {
    let body: ErrorBody = serde_json::from_value(json!({"kind": "k", "msg": "m"})).unwrap();
    assert!(body.details.is_empty());
}

#[test]
fn secrets_are_not_in_debug_output() {
    let login: LoginRequest =
        serde_json::from_value(json!({"login": "admin", "password": "canary"})).unwrap();
    let revoke = RevokeTokens {
        revoke_tokens: vec!["canary".to_owned()],
        ..Default::default()
    };
    let token = TokenReply {
        token: "canary".to_owned(),
    };
    let all = format!("{login:?} {revoke:?} {token:?}");
    assert!(!all.contains("canary"), "{all}");
}
