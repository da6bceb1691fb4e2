//! A14: whatever the server hands on from nodes and people moves no cursor and fakes no line.
//!
//! Every text in a reply is poisoned, also the keys of free objects, and what is printed must not
//! have one control character but those of our own lines.

use serde_json::{Map, Value, json};

use super::fake::{Answers, Fake};

const POISON: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\r\u{8}\u{9b}31m\u{202e}\n\u{7f}<script>";

/// Keys whose values are a part of the protocol: with anything else in them there is no reply.
const PROTOCOL: &[&str] = &[
    "type", "order", "state", "command", "id", "event", "duration",
];

fn poison(value: Value) -> Value {
    match value {
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => Value::String(text),
        Value::String(text) => Value::String(format!("{text}{POISON}")),
        Value::Array(items) => items.into_iter().map(poison).collect(),
        Value::Object(fields) => Value::Object(fields.into_iter().map(field).collect()),
        other => other,
    }
}

fn field((key, value): (String, Value)) -> (String, Value) {
    if matches!(
        key.as_str(),
        "metadata" | "result" | "classes" | "variables" | "input" | "row"
    ) {
        return (key, free(value));
    }
    if PROTOCOL.contains(&key.as_str()) && value.is_string() {
        return (key, value);
    }
    (key, poison(value))
}

/// In a free object the keys are theirs too.
fn free(value: Value) -> Value {
    match poison(value) {
        Value::Object(mut fields) => {
            let extra: Map<String, Value> =
                Map::from_iter([(POISON.to_owned(), json!({POISON: POISON}))]);
            fields.extend(extra);
            Value::Object(fields)
        }
        other => other,
    }
}

fn job() -> Value {
    let link = json!({"id": ""});
    json!({"id": "x", "name": "81", "state": "failed", "command": "deploy", "type": "deploy",
        "options": {"task": "t", "params": {"a": "b"}, "environment": "e", "noop": true,
            "tags": "t", "ordering": "o", "scope": {"nodes": ["n", "m"]}},
        "owner": {"login": "l"}, "description": "d", "environment": {"name": "e"},
        "timestamp": "2026-11-21T20:00:09Z", "node_count": 20, "node_states": {"failed": 20},
        "nodes": link, "report": link, "events": link, "duration": "1.0"})
}

fn nodes() -> Value {
    let result = json!({"status": "s", "environment": "e", "configuration_version": "c",
        "transaction_uuid": "u", "metrics": {"total": 1}, "errors": ["e"],
        "resources": [{"type": "File", "title": "t", "status": "failed", "messages": ["m"],
            "file": "f", "line": 1}], "_output": "o", "_error": {"msg": "m", "kind": "k"}});
    json!({"next-events": {"id": "", "event": "6"}, "items": [
        {"name": "n", "state": "failed", "details": {"message": "m", "stderr": "s", "report-url": "r"},
            "result": result}]})
}

fn replies() -> Answers {
    let page = json!({"limit": 1, "offset": 0, "order": "asc", "order_by": "name", "total": 1, "type": ""});
    let user =
        json!({"id": "u", "login": "l", "email": "e", "display_name": "d", "role_ids": [1, 2]});
    let role = json!({"id": 1, "display_name": "d", "description": "d", "user_ids": ["u"],
        "group_ids": ["g"], "permissions": [{"object_type": "t", "action": "a", "instance": "i"}]});
    let group = json!({"id": "g", "login": "l", "display_name": "d", "role_ids": [1],
        "user_ids": ["u"], "is_group": true, "is_remote": true, "is_superuser": false});
    let node_group = json!({"name": "w", "id": "g", "environment": "e", "environment_trumps": true,
        "parent": "p", "rule": ["=", "name", "r"], "classes": {"c": {"p": "v"}},
        "config_data": {}, "variables": {"v": "w"}, "description": "d",
        "last_edited": "2026-11-21T20:00:00.000Z", "serial_number": 1});
    let scheduled = json!({"id": "s", "name": "3", "enabled": true, "environment": "e",
        "owner": {"login": "l"}, "description": "d", "type": "task", "input": {"name": "n"},
        "userdata": {}, "schedule": {"start_time": null, "interval": null, "cron": "c", "timezone": "z"},
        "next_run": null, "last_run": {"time": "2026-11-21T01:30:00Z",
            "job": {"name": null, "submission_error": {"kind": "k", "msg": "m", "details": {}}}},
        "last_skip": {"time": "2026-11-21T01:30:00Z", "until": "2026-11-21T01:30:00Z",
            "reason": "r", "msg": "m"}, "runs": 1});
    let hook = json!({"id": "h", "url": "u", "events": ["e"], "description": "d", "enabled": true,
        "created_by": "c", "created_timestamp": "2026-11-21T20:00:00Z", "delivered": 1,
        "given_up": 1, "failing_since": null, "last_error": "l"});
    let token = json!({"id": "t", "creation_date": "2026-11-21T20:00:00.000Z", "expiration_date": null,
        "last_active_date": "2026-11-21T20:00:00.000Z", "client": "c", "description": "d",
        "label": "l", "session_timeout": null});
    let plan_job = json!({"id": "p", "name": "12", "state": "failure", "options": {"plan_name": "p"},
        "result": {"a": "b"}, "owner": {"login": "l"},
        "created_timestamp": "2026-11-21T20:00:00Z", "events": {"id": ""}});
    let event = json!({"id": "1", "type": "out_message", "timestamp": "2026-11-21T20:00:00Z",
        "details": {}, "message": "m"});
    let step = json!({"step": "1", "type": "t", "site": "s", "arguments": {"a": "b"},
        "state": "odd", "job": {"id": "j", "name": "8"},
        "started_timestamp": "2026-11-21T20:00:00Z"});
    let code = json!({"name": "production", "code_id": null});
    let task = json!({"id": "t", "name": "t", "environment": code, "permitted": true,
        "metadata": {"description": "d", "parameters": {"p": {"type": "T", "description": "d",
            "default": "x"}}},
        "files": [{"filename": "f", "uri": {"path": "p", "params": {"environment": "e"}}, "sha256": "s", "size_bytes": 1}]});
    let plan = json!({"id": "p", "name": "p", "environment": code, "permitted": true,
        "metadata": {"description": "d", "parameters": {"p": {"type": "T"}}}});
    let classified = json!({"name": "n", "groups": ["g"], "environment": "e",
        "classes": {"c": {}}, "parameters": {"p": "v"}, "config_data": {}});
    let rules = json!({"rule": ["r"], "rule_with_inherited": ["r"],
        "translated": {"nodes_query_format": ["q"], "inventory_query_format": ["q"]}});
    vec![
        (
            "GET /orchestrator/v1/jobs",
            200,
            json!({"items": [job()], "pagination": page}),
        ),
        ("GET /orchestrator/v1/jobs/81", 200, job()),
        ("GET /orchestrator/v1/jobs/81/nodes", 200, nodes()),
        (
            "GET /orchestrator/v1/tasks",
            200,
            json!({"environment": code, "items": [task]}),
        ),
        ("GET /orchestrator/v1/tasks/t/init", 200, task),
        (
            "GET /orchestrator/v1/plans",
            200,
            json!({"environment": code, "items": [plan]}),
        ),
        ("GET /orchestrator/v1/plans/p/init", 200, plan),
        (
            "GET /orchestrator/v1/plan_jobs",
            200,
            json!({"items": [plan_job], "pagination": page}),
        ),
        ("GET /orchestrator/v1/plan_jobs/12", 200, plan_job),
        (
            "GET /orchestrator/v1/plan_jobs/12/events",
            200,
            json!({"next-events": {"id": "", "event": "2"}, "items": [event]}),
        ),
        (
            "GET /orchestrator/v1/plan_jobs/12/steps",
            200,
            json!({"items": [step], "pagination": page}),
        ),
        (
            "POST /orchestrator/v1/inventory",
            200,
            json!({"items": [{"name": "n", "connected": false}]}),
        ),
        (
            "GET /orchestrator/v1/inventory",
            200,
            json!({"items": [{"name": "n", "connected": true, "broker": "b"}]}),
        ),
        ("GET /rbac-api/v1/users", 200, json!([user])),
        ("GET /rbac-api/v1/users/current", 200, user),
        (
            "GET /rbac-api/v1/users/u/tokens",
            200,
            json!({"items": [token], "pagination": page}),
        ),
        ("GET /rbac-api/v1/roles", 200, json!([role])),
        ("GET /rbac-api/v1/groups", 200, json!([group])),
        (
            "GET /rbac-api/v1/types",
            200,
            json!([{"object_type": "t", "display_name": "d",
            "description": "d", "actions": [{"name": "n", "display_name": "d",
            "description": "d", "has_instances": true}]}]),
        ),
        ("GET /classifier-api/v1/groups", 200, json!([node_group])),
        (
            "GET /classifier-api/v1/groups/00000000-0000-4000-8000-000000000000",
            200,
            node_group,
        ),
        (
            "GET /classifier-api/v1/groups/00000000-0000-4000-8000-000000000000/rules",
            200,
            rules,
        ),
        (
            "POST /classifier-api/v1/classified/nodes/n",
            200,
            classified,
        ),
        (
            "GET /orchestrator/v1/scheduled_jobs/environment_jobs",
            200,
            json!({"items": [scheduled], "pagination": page}),
        ),
        (
            "GET /orchestrator/v1/scheduled_jobs/environment_jobs/3",
            200,
            scheduled,
        ),
        (
            "POST /inventory/v1/query/connections",
            200,
            json!({"items": [{"connection_id": "c",
            "certnames": ["n"], "type": "ssh", "parameters": {"user": "u", "hostname": "h"}}]}),
        ),
        ("GET /tutti/v1/webhooks", 200, json!({"items": [hook]})),
        ("GET /tutti/v1/webhooks/h", 200, hook),
        (
            "POST /tutti/v1/webhooks/h/test",
            200,
            json!({"delivered": false, "error": "e"}),
        ),
        (
            "POST /pdb/query/v4",
            200,
            json!([{"row": {"certname": "n"}, "certname": "n"}]),
        ),
    ]
}

const LINES: &[&str] = &[
    "job list",
    "job show 81",
    "job plan -n n",
    "job plan -q nodes{}",
    "node list",
    "task show",
    "task list",
    "task show t",
    "plan show",
    "plan show p",
    "plan jobs",
    "plan jobs 12",
    "plan list",
    "plan events 12",
    "plan steps 12",
    "user list",
    "user show",
    "role list",
    "role show 1",
    "role permissions",
    "group list",
    "token list",
    "node-group list --ids",
    "node-group show 00000000-0000-4000-8000-000000000000",
    "node-group rules 00000000-0000-4000-8000-000000000000",
    "node-group explain n",
    "schedule list",
    "schedule show 3",
    "connection list",
    "webhook list",
    "webhook show h",
    "webhook test h",
    "query nodes{}",
];

fn assert_harmless(line: &str, text: &str) {
    let evil = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if let Some(place) = text.find(evil) {
        let near: String = text[place..].chars().take(20).collect();
        panic!("tutti {line} prints {near:?}");
    }
    // A line that a text of theirs has begun would begin with the character behind its line feed.
    assert!(
        !text.contains("\n\u{2421}<script>"),
        "tutti {line} lets a text begin a line:\n{text}"
    );
}

#[tokio::test]
async fn a14_no_text_of_a_reply_reaches_the_terminal_as_it_is() {
    let replies: Answers = replies()
        .into_iter()
        .map(|(what, status, reply)| (what, status, poison(reply)))
        .collect();
    let fake = Fake::start(replies).await;
    for line in LINES {
        let words: Vec<_> = ["tutti"].into_iter().chain(line.split(' ')).collect();
        let ran = fake.run(&words).await;
        assert_eq!(ran.error, "", "tutti {line}");
        assert!(
            ran.printed.contains("<script>"),
            "tutti {line} shows nothing:\n{}",
            ran.printed
        );
        assert_harmless(line, &ran.printed);
    }
}

#[tokio::test]
async fn a14_nor_does_an_error() {
    let error = json!({"kind": POISON, "msg": POISON, "details": {}});
    let fake = Fake::start(vec![("GET /orchestrator/v1/jobs", 400, error)]).await;
    let ran = fake.run(&["tutti", "job", "list"]).await;
    assert_eq!(ran.code, 2);
    assert_harmless("job list", &ran.error);
}
