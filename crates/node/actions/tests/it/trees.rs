//! Ending of actions: of the whole process tree, including processes that try to escape.

use std::path::Path;
use std::time::Duration;

use pxp::action::{CANCEL_ACTION, CancelParams, TUTTI_MODULE};
use pxp::{PxpMessageBody, PxpRequest, TransactionId};
use serde_json::json;

use super::fake::{Node, until};

/// Pids that the action wrote, one per line.
fn pids(file: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect()
}

fn runs(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    // A zombie of another parent does not run any more.
    !stat
        .rsplit(')')
        .next()
        .unwrap()
        .trim_start()
        .starts_with('Z')
}

/// A child, a grandchild, one that left the session and the group by a double
/// fork, and one that ignores SIGTERM.
fn forking_command(file: &Path) -> String {
    let file = file.display();
    format!(
        "echo $$ >>{file}; \
         (echo $BASHPID >>{file}; sleep 1000) & \
         setsid bash -c 'echo $$ >>{file}; (setsid bash -c \"echo \\$\\$ >>{file}; sleep 1000\" &)' & \
         bash -c 'trap \"\" TERM; echo $$ >>{file}; while :; do sleep 1; done' & \
         sleep 1000"
    )
}

/// A stock pcp-broker forwards this form, but not Tutti's own message type.
#[tokio::test]
async fn a_blocking_request_of_our_module_cancels_too() {
    let node = Node::start().await;
    let id = node.command("sleep 1000").await;
    for (transaction_id, found) in [(TransactionId::random(), false), (id, true)] {
        let params = CancelParams {
            transaction_id,
            force: true,
        };
        let request = TransactionId::random();
        node.handle(PxpMessageBody::BlockingRequest(PxpRequest {
            transaction_id: request.clone(),
            module: TUTTI_MODULE.to_owned(),
            action: CANCEL_ACTION.to_owned(),
            params: pxp::action::encode(&params),
            notify_outcome: None,
            extended: None,
            file_servers: Vec::new(),
        }));
        let answer = loop {
            match node.broker.next().await {
                PxpMessageBody::BlockingResponse(answer) => break answer,
                PxpMessageBody::ProvisionalResponse { .. }
                | PxpMessageBody::NonBlockingResponse(_) => {}
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(answer.transaction_id, request);
        let results: serde_json::Value = serde_json::from_str(answer.results.get()).unwrap();
        assert_eq!(results, serde_json::json!({"cancelled": found}));
    }
}

async fn cancelled(force: bool) {
    let node = Node::start_with(|config, _| config.stop_grace = Duration::from_millis(300)).await;
    let file = node.dir.path().join("pids");
    let id = node.command(&forking_command(&file)).await;
    until("all processes are there", || pids(&file).len() == 5).await;
    let running: Vec<_> = pids(&file).into_iter().filter(|pid| runs(*pid)).collect();
    assert!(running.len() >= 4, "{running:?}");

    node.handle(PxpMessageBody::Cancel {
        transaction_id: id.clone(),
        force,
    });
    let result = node.broker.result().await;
    assert!(result.cancelled && !result.timed_out);
    assert_eq!(result.signal, Some(if force { 9 } else { 15 }));
    let left: Vec<_> = running.into_iter().filter(|pid| runs(*pid)).collect();
    assert_eq!(
        left,
        Vec::<i32>::new(),
        "nothing is left when the outcome is told"
    );
    assert!(node.status(&id).await.cancelled);
}

#[tokio::test]
async fn a_cancel_ends_the_whole_tree() {
    cancelled(false).await;
}

#[tokio::test]
async fn a_forced_cancel_does_so_at_once() {
    cancelled(true).await;
}

#[tokio::test]
async fn a_task_that_cleans_up_on_sigterm_tells_its_own_exit_code() {
    let node = Node::start().await;
    let marker = node.dir.path().join("ready");
    let command = format!(
        "trap 'echo bye; exit 42' TERM; touch {}; while :; do sleep 0.05; done",
        marker.display()
    );
    let id = node.command(&command).await;
    until("it is ready", || marker.exists()).await;
    node.handle(PxpMessageBody::Cancel {
        transaction_id: id,
        force: false,
    });
    let result = node.broker.result().await;
    assert_eq!((result.exitcode, result.signal), (42, None));
    assert!(result.cancelled);
    assert_eq!(result.stdout.as_deref(), Some("bye\n"));
}

#[tokio::test]
async fn a_tree_that_keeps_forking_is_ended() {
    let node = Node::start().await;
    let marker = node.dir.path().join("ready");
    // Each process starts its successor and exits: no single snapshot contains them all.
    let command = format!(
        "f() {{ touch {}; sleep 0.01; f & }}; f; f; f; wait; sleep 1000",
        marker.display()
    );
    let id = node.command(&command).await;
    until("it forks", || marker.exists()).await;
    node.handle(PxpMessageBody::Cancel {
        transaction_id: id,
        force: true,
    });
    assert!(node.broker.result().await.cancelled);
    std::fs::remove_file(&marker).unwrap();
    // A survivor would recreate the file within 10 ms; five rounds are enough to detect one, and
    // without one the check always passes.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!marker.exists(), "something goes on forking");
}

#[tokio::test]
async fn an_action_that_takes_too_long_is_ended_and_says_so() {
    let node = Node::start_with(|config, _| {
        // long enough for a shell to start on a busy machine
        config.action_timeout = Some(Duration::from_secs(2));
    })
    .await;
    node.blocking(
        "command",
        "run",
        &json!({"command": "echo begun; sleep 1000"}),
    );
    let result = node.broker.result().await;
    assert!(result.timed_out && !result.cancelled);
    assert_eq!((result.exitcode, result.signal), (143, Some(15)));
    assert_eq!(result.stdout.as_deref(), Some("begun\n"));
}

#[tokio::test]
async fn an_action_that_waits_is_cancelled_without_having_run() {
    let node = Node::start_with(|config, _| config.max_concurrent_actions = 1).await;
    let first = node.command("sleep 1000").await;
    let marker = node.dir.path().join("ran");
    let second = node.command(&format!("touch {}", marker.display())).await;
    node.handle(PxpMessageBody::Cancel {
        transaction_id: second,
        force: false,
    });
    let result = node.broker.result().await;
    assert!(result.cancelled);
    assert_eq!(
        result.stderr.as_deref(),
        Some("cancelled before it was started\n")
    );
    node.handle(PxpMessageBody::Cancel {
        transaction_id: first,
        force: true,
    });
    assert!(node.broker.result().await.cancelled);
    assert!(!marker.exists());
}
