//! Recovery from stopped agents, killed wrappers and undelivered outcomes.

use std::path::Path;

use pxp::PxpMessageBody;
use pxp::action::TransactionStatus;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::fake::{Node, PATIENCE, orchestrator, request, until};

/// The words by which an orchestrator recognises an unknown outcome.
const NOT_KNOWN: &str = "the outcome is not known";

fn metadata(entry: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(entry.join("metadata")).unwrap()).unwrap()
}

/// A command that ends when the file exists.
fn wait_for(file: &Path) -> String {
    format!(
        "while [ ! -e {} ]; do sleep 0.02; done; echo went on; exit 5",
        file.display()
    )
}

#[tokio::test]
async fn a_running_action_goes_on_and_its_outcome_is_told_by_the_next_agent() {
    let mut node = Node::start().await;
    let go = node.dir.path().join("go");
    let id = node.command(&wait_for(&go)).await;
    until("it runs", || node.entry(&id).join("pid").exists()).await;
    node.restart().await;
    assert_eq!(node.status(&id).await.status, TransactionStatus::Running);
    std::fs::write(&go, "").unwrap();
    let result = node.broker.result().await;
    assert_eq!(
        (result.exitcode, result.stdout.as_deref()),
        (5, Some("went on\n"))
    );
    assert_eq!(node.status(&id).await.status, TransactionStatus::Failure);
}

#[tokio::test]
async fn an_action_that_ended_between_two_agents_is_told_too() {
    let mut node = Node::start().await;
    let go = node.dir.path().join("go");
    let id = node.command(&wait_for(&go)).await;
    until("it runs", || node.entry(&id).join("pid").exists()).await;
    node.engine.shutdown(super::fake::PATIENCE).await;
    std::fs::write(&go, "").unwrap();
    until("it ends", || node.entry(&id).join("exit.json").exists()).await;
    node.restart().await;
    assert_eq!(node.broker.result().await.exitcode, 5);
}

#[tokio::test]
async fn an_action_found_again_can_be_cancelled() {
    let mut node = Node::start().await;
    let id = node.command("sleep 1000").await;
    until("it runs", || node.entry(&id).join("pid").exists()).await;
    node.restart().await;
    node.handle(PxpMessageBody::Cancel {
        transaction_id: id,
        force: false,
    });
    let result = node.broker.result().await;
    assert!(result.cancelled);
    assert_eq!(result.signal, Some(15));
}

#[tokio::test]
async fn what_waited_for_a_place_is_said_not_to_have_run() {
    let mut node = Node::start_with(|config, _| config.max_concurrent_actions = 1).await;
    let first = node.command("sleep 1000").await;
    let marker = node.dir.path().join("ran");
    let second = node.command(&format!("touch {}", marker.display())).await;
    until("the first runs", || node.entry(&first).join("pid").exists()).await;
    node.restart().await;
    let error = node.broker.error().await;
    assert!(error.contains("it did not run"), "{error}");
    assert!(!error.starts_with(NOT_KNOWN), "{error}");
    assert_eq!(
        node.status(&second).await.status,
        TransactionStatus::Failure
    );
    node.handle(PxpMessageBody::Cancel {
        transaction_id: first,
        force: true,
    });
    assert!(node.broker.result().await.cancelled);
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_killed_wrapper_leaves_an_outcome_that_is_said_to_be_unknown() {
    let mut node = Node::start().await;
    let id = node.command("sleep 1000").await;
    let pid_file = node.entry(&id).join("pid");
    until("it runs", || {
        std::fs::read_to_string(&pid_file).is_ok_and(|pid| pid.ends_with('\n'))
    })
    .await;
    let pid = std::fs::read_to_string(&pid_file)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let children = format!("/proc/{pid}/task/{pid}/children");
    let action = std::fs::read_to_string(children)
        .unwrap()
        .trim()
        .parse()
        .ok();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let error = node.broker.error().await;
    assert!(error.starts_with(NOT_KNOWN), "{error}");
    if let Some(action) = action.and_then(Pid::from_raw) {
        kill_process(action, Signal::KILL).expect("the orphan is left alone");
    }
    for _ in 0..2 {
        let status = node.status(&id).await;
        assert_eq!(
            (status.status, status.exitcode),
            (TransactionStatus::Unknown, None)
        );
        assert_eq!(status.spool_id, None, "it was seen");
        assert!(status.stdout.unwrap().contains("not known"));
        assert_eq!(metadata(&node.entry(&id))["status"], "undetermined");
        node.restart().await;
        // The outcome is sent again, because it was not acknowledged.
        assert_eq!(node.broker.error().await, error, "told as before");
    }
}

#[tokio::test]
async fn a_request_that_comes_twice_runs_once() {
    let mut node = Node::start().await;
    let ledger = node.dir.path().join("ledger");
    let params = json!({"command": format!("echo ran >>{}; sleep 0.2", ledger.display())});
    let request = request("command", "run", &params, Some(true));
    node.handle(PxpMessageBody::NonBlockingRequest(request.clone()));
    node.handle(PxpMessageBody::NonBlockingRequest(request.clone()));
    let mut provisional = 0;
    let outcome = loop {
        match node.broker.next().await {
            PxpMessageBody::ProvisionalResponse { .. } => provisional += 1,
            other => break other,
        }
    };
    assert!(matches!(outcome, PxpMessageBody::NonBlockingResponse(_)));
    assert_eq!(provisional, 2);

    let acknowledgement = PxpMessageBody::OutcomeAck {
        transaction_id: request.transaction_id.clone(),
    };
    for restarted in [false, true] {
        node.handle(acknowledgement.clone());
        let entry = node.entry(&request.transaction_id);
        until("it is acknowledged", || {
            metadata(&entry)["tutti"]["delivery"]["acknowledged"] == true
        })
        .await;
        if restarted {
            node.restart().await;
        }
        node.handle(PxpMessageBody::NonBlockingRequest(request.clone()));
        assert_eq!(node.broker.provisional().await, request.transaction_id);
        assert_eq!(node.broker.result().await.exitcode, 0, "the outcome again");
    }
    assert_eq!(std::fs::read_to_string(&ledger).unwrap(), "ran\n");
}

#[tokio::test]
async fn an_outcome_waits_for_a_connection_and_for_its_acknowledgement() {
    let mut node = Node::start().await;
    let go = node.dir.path().join("go");
    let id = node.command(&wait_for(&go)).await;
    node.broker.connect(false);
    std::fs::write(&go, "").unwrap();
    let entry = node.entry(&id);
    until("the end is recorded", || {
        metadata(&entry)["status"] == "failure"
    })
    .await;
    assert!(node.broker.already().await.is_none());
    node.broker.connect(true);
    assert_eq!(node.broker.result().await.exitcode, 5);

    // Not acknowledged: again on the next connection, and after a restart.
    node.broker.connect(false);
    node.broker.connect(true);
    assert_eq!(node.broker.result().await.exitcode, 5);
    node.restart().await;
    assert_eq!(node.broker.result().await.exitcode, 5);

    node.handle(PxpMessageBody::OutcomeAck {
        transaction_id: id.clone(),
    });
    until("it is acknowledged", || {
        metadata(&entry)["tutti"]["delivery"]["acknowledged"] == true
    })
    .await;
    node.restart().await;
    // No message comes before the answer to this.
    assert_eq!(node.status(&id).await.status, TransactionStatus::Failure);
}

#[tokio::test]
async fn another_sender_cannot_acknowledge() {
    let node = Node::start().await;
    let id = node.command("true").await;
    node.broker.result().await;
    let entry = node.entry(&id);
    until("the end is recorded", || {
        metadata(&entry)["status"] == "success"
    })
    .await;
    let stranger = "pcp://stranger/server".parse().unwrap();
    let acknowledgement = PxpMessageBody::OutcomeAck {
        transaction_id: id.clone(),
    };
    node.engine
        .handle(stranger, pcp::MessageId::random(), acknowledgement.clone());
    node.engine
        .handle(orchestrator(), pcp::MessageId::random(), acknowledgement);
    until("the right one counts", || {
        metadata(&entry)["tutti"]["delivery"]["acknowledged"] == true
    })
    .await;
}

#[tokio::test]
async fn half_written_and_foreign_entries_are_answered_truthfully() {
    let mut node = Node::start().await;
    let half = "half".parse().unwrap();
    std::fs::create_dir(node.entry(&half)).unwrap();
    std::fs::write(node.entry(&half).join("metadata"), "{\"requester\":\"pcp").unwrap();
    let foreign = "42".parse().unwrap();
    std::fs::create_dir(node.entry(&foreign)).unwrap();
    let theirs = json!({
        "requester": "pcp://orch/server", "module": "command", "action": "run",
        "request_params": "{}", "transaction_id": "42", "request_id": "1",
        "notify_outcome": true, "start": "2026-11-21T06:08:12.545391Z", "status": "running",
    });
    std::fs::write(node.entry(&foreign).join("metadata"), theirs.to_string()).unwrap();
    std::fs::write(node.entry(&foreign).join("stdout"), "theirs").unwrap();
    std::fs::write(node.entry(&foreign).join("exitcode"), "3").unwrap();
    node.restart().await;
    let status = node.status(&half).await;
    assert_eq!(
        (status.status, status.spool_id),
        (TransactionStatus::Unknown, None)
    );
    let status = node.status(&foreign).await;
    assert_eq!(
        (status.status, status.exitcode),
        (TransactionStatus::Failure, Some(3))
    );
    assert_eq!(status.stdout.as_deref(), Some("theirs"));
    let never = node.status(&"never".parse().unwrap()).await;
    assert_eq!(never.status, TransactionStatus::Unknown);
    assert_eq!(never.spool_id, node.engine.capabilities().spool_id);
    assert!(never.stdout.unwrap().contains("found no results directory"));
}

#[tokio::test]
async fn an_agent_whose_spool_was_emptied_does_not_vouch_for_what_it_never_saw() {
    let node = Node::start().await;
    let first = node.engine.capabilities().spool_id;
    let id = node.command("true").await;
    node.broker.result().await;
    until("the end is recorded", || {
        metadata(&node.entry(&id))["status"] == "success"
    })
    .await;
    let emptied = std::process::Command::new("/bin/sh")
        .args(["-c", "rm -rf \"$0\"/*"])
        .arg(&node.config.spool_dir)
        .status();
    assert!(emptied.unwrap().success());
    // The end is on disk a moment before the engine releases the action.
    let forgotten = async {
        loop {
            let status = node.status(&id).await;
            if status.status != TransactionStatus::Running {
                return status;
            }
        }
    };
    let status = tokio::time::timeout(PATIENCE, forgotten).await.unwrap();
    assert_eq!(
        (status.status, status.spool_id),
        (TransactionStatus::Unknown, None)
    );
    let second = node.engine.capabilities().spool_id;
    assert!(second.is_some() && second != first);
    let never = node.status(&"never".parse().unwrap()).await;
    assert_eq!(
        (never.status, never.spool_id),
        (TransactionStatus::Unknown, second)
    );
}

#[tokio::test]
async fn a_blocking_action_whose_wrapper_was_killed_is_told_as_not_known() {
    let node = Node::start().await;
    // The parent of the shell is its wrapper.
    let params = json!({"command": "kill -9 $PPID; sleep 0.1"});
    node.blocking("command", "run", &params);
    let error = node.broker.error().await;
    assert!(error.starts_with(NOT_KNOWN), "{error}");
}

#[tokio::test]
async fn a_result_that_cannot_be_read_is_told_as_not_known() {
    let node = Node::start().await;
    // A directory can be opened, but not read.
    let command = "cd $(dirname $(readlink /proc/self/fd/2)) && rm stdout && mkdir stdout";
    let params = json!({ "command": command });
    node.blocking("command", "run", &params);
    let error = node.broker.error().await;
    assert!(error.starts_with(NOT_KNOWN), "{error}");
}

#[tokio::test]
async fn a_request_that_is_refused_or_not_started_is_never_told_as_not_known() {
    let node = Node::start_with(|config, _| {
        config.wrapper = vec!["/nonexistent/wrapper".into()];
    })
    .await;
    node.blocking("no-such-module", "run", &json!({}));
    let refused = node.broker.error().await;
    node.blocking("command", "run", &json!({"command": "true"}));
    let blocking = node.broker.error().await;
    node.command("true").await;
    let non_blocking = node.broker.error().await;
    for error in [refused, blocking, non_blocking] {
        assert!(!error.contains("not known"), "{error}");
    }
}
