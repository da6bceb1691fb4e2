//! Actions and their outcomes, as an orchestrator sees them.

use pxp::action::Status;
use serde_json::json;

use super::fake::Node;

#[tokio::test]
async fn a_blocking_command_answers_with_its_output() {
    let node = Node::start().await;
    node.blocking(
        "command",
        "run",
        &json!({"command": "echo out; echo err >&2; exit 3"}),
    );
    let result = node.broker.result().await;
    assert_eq!(result.exitcode, 3);
    assert_eq!(result.stdout.as_deref(), Some("out\n"));
    assert_eq!(result.stderr.as_deref(), Some("err\n"));
}

#[tokio::test]
async fn a_non_blocking_command_is_taken_then_tells_its_outcome() {
    let node = Node::start().await;
    let id = node.command("echo hello").await;
    let result = node.broker.result().await;
    assert_eq!(
        (result.exitcode, result.stdout.as_deref()),
        (0, Some("hello\n"))
    );
    assert_eq!(result.stderr, None, "empty streams are left out");
    let status = node.status(&id).await;
    assert_eq!(status.status, Status::Success);
    assert_eq!(status.exitcode, Some(0));
    assert_eq!(status.stdout.as_deref(), Some("hello\n"));
    assert_eq!(status.spool_id, node.engine.capabilities().spool_id);
}

#[tokio::test]
async fn quick_modules_answer() {
    let node = Node::start().await;
    node.blocking("ping", "ping", &json!({"sender_timestamp": ""}));
    assert_eq!(node.broker.results().await, json!({"request_hops": []}));
    node.blocking("echo", "echo", &json!({"argument": "marco"}));
    assert_eq!(node.broker.results().await, json!({"outcome": "marco"}));
}
