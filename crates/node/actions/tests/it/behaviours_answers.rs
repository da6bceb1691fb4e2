//! Answers to requests: errors, status, and their order. `docs/stock-peers.md` has the numbers of
//! these behaviours.

use pxp::PxpMessageBody;
use pxp::action::TransactionStatus;
use serde_json::{Value, json};

use super::fake::{Node, request, until};

/// The error that answers a blocking request.
async fn refused(node: &Node, module: &str, action: &str, params: &Value) -> (String, String) {
    let id = node.blocking(module, action, params);
    (id.to_string(), node.broker.error().await)
}

#[tokio::test]
async fn unknown_names_are_told_in_the_usual_words() {
    let node = Node::start().await;
    for (module, action, expected) in [
        ("nope", "run", "unknown module: nope"),
        ("../command", "run", "unknown module: ../command"),
        ("", "", "unknown module: "),
        ("echo", "walk", "unknown action 'walk' for module 'echo'"),
        ("ping", "walk", "unknown action 'walk' for module 'ping'"),
        ("status", "x", "unknown action 'x' for module 'status'"),
        ("command", "", "unknown action '' for module 'command'"),
        (
            "script",
            "walk",
            "unknown action 'walk' for module 'script'",
        ),
        ("task", "walk", "unknown action 'walk' for module 'task'"),
        (
            "file",
            "upload",
            "unknown action 'upload' for module 'file'",
        ),
    ] {
        let (_, error) = refused(&node, module, action, &json!({})).await;
        assert_eq!(error, expected);
        if matches!(module, "echo" | "ping" | "status") {
            continue;
        }
        node.non_blocking(module, action, &json!({}));
        assert_eq!(node.broker.error().await, expected, "non-blocking");
    }
}

#[tokio::test]
async fn quick_modules_take_blocking_requests_only() {
    let node = Node::start().await;
    for (module, action) in [("echo", "echo"), ("ping", "ping"), ("status", "query")] {
        node.non_blocking(module, action, &json!({}));
        assert_eq!(
            node.broker.error().await,
            format!("the module '{module}' supports only blocking PXP requests")
        );
    }
}

#[tokio::test]
async fn invalid_input_names_the_request() {
    let node = Node::start().await;
    for (module, action, params) in [
        ("echo", "echo", json!({})),
        ("echo", "echo", json!({"argument": 1})),
        ("echo", "echo", json!({"argument": "x", "more": 1})),
        ("ping", "ping", json!({"sender_timestamp": 5})),
        ("ping", "ping", json!({"more": 5})),
        ("status", "query", json!({})),
        ("status", "query", json!({"transaction_id": "1", "more": 1})),
        ("status", "query", json!({"transaction_id": "../../etc"})),
        ("command", "run", json!({})),
        ("command", "run", json!({"command": ["true"]})),
        ("command", "run", json!({"command": "true", "more": 1})),
        ("script", "run", json!({"arguments": []})),
        ("script", "run", json!({"script": "x", "arguments": []})),
        ("task", "run", json!({"task": "m"})),
        (
            "task",
            "run",
            json!({"task": "m", "input": {}, "files": []}),
        ),
        ("file", "download", json!({})),
        ("file", "download", json!({"files": [{"kind": "socket"}]})),
    ] {
        let (id, error) = refused(&node, module, action, &params).await;
        let expected =
            format!("invalid input for blocking '{module} {action}' request (transaction {id})");
        assert!(error.starts_with(&expected), "{params}: {error}");
        if matches!(module, "echo" | "ping" | "status") {
            continue;
        }
        let id = node.non_blocking(module, action, &params);
        let error = node.broker.error().await;
        let expected = format!(
            "invalid input for non blocking '{module} {action}' request (transaction {id})"
        );
        assert!(error.starts_with(&expected), "{params}: {error}");
        assert!(!node.entry(&id).exists(), "no trace of it");
    }
}

#[tokio::test]
async fn what_cannot_be_carried_out_names_the_request() {
    let node = Node::start().await;
    // No primary server is configured, so no file can be fetched.
    let file = json!({
        "filename": "x.sh", "sha256": "ab".repeat(32), "uri": {"path": "/x", "params": {}},
    });
    let task = json!({"task": "m", "input": {}, "files": [file]});
    let script = json!({"script": file, "arguments": []});
    for (module, params) in [("task", task), ("script", script)] {
        let (id, error) = refused(&node, module, "run", &params).await;
        let expected = format!(
            "Failed to execute the task for the blocking '{module} run' request \
             (transaction {id}). Error: "
        );
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_no_message_holds_becomes_an_error() {
    let node = Node::start().await;
    node.broker.limit_results(200);
    let size = r#"{"outcome":""}"#.len() + 500;
    node.blocking("echo", "echo", &json!({"argument": "x".repeat(500)}));
    let expected = format!("Message size: {size} exceeded max-message-size 200");
    assert_eq!(node.broker.error().await, expected);

    let long_name = "m".repeat(500);
    let (_, error) = refused(&node, &long_name, "run", &json!({})).await;
    assert!(error.ends_with("exceeded max-message-size 200"), "{error}");

    let command = json!({"command": "head -c 500 /dev/zero | tr '\\0' x"});
    let (_, error) = refused(&node, "command", "run", &command).await;
    assert!(error.ends_with("exceeded max-message-size 200"), "{error}");

    let id = node.non_blocking("command", "run", &command);
    assert_eq!(node.broker.provisional().await, id);
    let error = node.broker.error().await;
    assert!(error.ends_with("exceeded max-message-size 200"), "{error}");
    // The action ran anyway, and its outcome is sent once the limit allows it.
    node.broker.limit_results(usize::MAX);
    let status = node.status(&id).await;
    assert_eq!(
        (status.status, status.exitcode),
        (TransactionStatus::Success, Some(0))
    );
}

/// The answer to a query, without the spool's id.
async fn status_keys(node: &Node, id: &pxp::TransactionId) -> Value {
    node.blocking("status", "query", &json!({"transaction_id": id}));
    let mut status = node.broker.results().await;
    let spool_id = status.as_object_mut().unwrap().remove("spool_id");
    assert_eq!(
        spool_id,
        Some(json!(node.engine.capabilities().spool_id.unwrap()))
    );
    status
}

#[tokio::test]
async fn a_status_has_the_keys_that_its_state_allows() {
    let node = Node::start().await;
    let never = "never-seen".parse().unwrap();
    let mut unknown = status_keys(&node, &never).await;
    let told: Value = serde_json::from_str(unknown["stdout"].as_str().unwrap()).unwrap();
    assert_eq!(
        told,
        json!({"_error": {
            "kind": "puppetlabs.pxp-agent/execution-error",
            "details": {},
            "msg": "found no results directory",
        }})
    );
    unknown["stdout"] = Value::Null;
    assert_eq!(
        unknown,
        json!({"transaction_id": never, "status": "unknown", "stdout": null})
    );

    let go = node.dir.path().join("go");
    let waiting = format!("while [ ! -e {} ]; do sleep 0.02; done", go.display());
    let id = node.command(&waiting).await;
    assert_eq!(
        status_keys(&node, &id).await,
        json!({"transaction_id": id, "status": "running"})
    );
    std::fs::write(&go, "").unwrap();
    node.broker.result().await;
    assert_eq!(
        status_keys(&node, &id).await,
        json!({"transaction_id": id, "status": "success", "exitcode": 0})
    );

    for (command, expected) in [
        (
            "echo out",
            json!({"status": "success", "exitcode": 0, "stdout": "out\n"}),
        ),
        (
            "echo err >&2; exit 4",
            json!({"status": "failure", "exitcode": 4, "stderr": "err\n"}),
        ),
    ] {
        let id = node.command(command).await;
        node.broker.result().await;
        let mut expected = expected;
        expected["transaction_id"] = json!(id);
        assert_eq!(status_keys(&node, &id).await, expected);
    }
}

#[tokio::test]
async fn a_blocking_action_holds_up_nobody() {
    let node = Node::start().await;
    let go = node.dir.path().join("go");
    let begun = node.dir.path().join("begun");
    let command = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.02; done; echo first",
        begun.display(),
        go.display()
    );
    let first = request("command", "run", &json!({ "command": command }), None);
    let id = first.transaction_id.clone();
    node.handle(PxpMessageBody::BlockingRequest(first));
    until("the first runs", || begun.exists()).await;

    node.blocking("ping", "ping", &json!({"sender_timestamp": "now"}));
    assert_eq!(node.broker.results().await, json!({"request_hops": []}));
    node.blocking("echo", "echo", &json!({"argument": "wörld\n"}));
    assert_eq!(node.broker.results().await, json!({"outcome": "wörld\n"}));
    assert_eq!(node.status(&id).await.status, TransactionStatus::Running);
    node.blocking("command", "run", &json!({"command": "echo second"}));
    let second = node.broker.result().await;
    assert_eq!(second.stdout.as_deref(), Some("second\n"));

    std::fs::write(&go, "").unwrap();
    let first = node.broker.result().await;
    assert_eq!(first.stdout.as_deref(), Some("first\n"));
}
