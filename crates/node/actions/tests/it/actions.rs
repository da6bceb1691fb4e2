//! Actions and their outcomes, from the orchestrator's side.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pxp::action::{ActionResult, TransactionStatus};
use pxp::{PxpMessageBody, PxpRequest};
use serde_json::{Value, json};

use super::fake::{Node, PATIENCE, request};

async fn run(node: &Node, command: &str) -> ActionResult {
    node.blocking("command", "run", &json!({ "command": command }));
    node.broker.result().await
}

#[tokio::test]
async fn a_blocking_command_answers_with_its_output() {
    let node = Node::start().await;
    let result = run(&node, "echo out; echo err >&2; exit 3").await;
    assert_eq!(result.exitcode, 3);
    assert_eq!(result.stdout.as_deref(), Some("out\n"));
    assert_eq!(result.stderr.as_deref(), Some("err\n"));
    let scratch = node.config.spool_dir.join(".blocking");
    assert_eq!(
        std::fs::read_dir(scratch).unwrap().count(),
        0,
        "nothing is left"
    );
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
    assert_eq!(status.status, TransactionStatus::Success);
    assert_eq!(status.exitcode, Some(0));
    assert_eq!(status.stdout.as_deref(), Some("hello\n"));
    assert_eq!(status.spool_id, node.engine.capabilities().spool_id);
}

#[tokio::test]
async fn without_notify_outcome_only_the_status_tells() {
    let node = Node::start().await;
    let request = request("command", "run", &json!({"command": "exit 7"}), Some(false));
    let id = request.transaction_id.clone();
    node.handle(PxpMessageBody::NonBlockingRequest(request));
    assert_eq!(node.broker.provisional().await, id);
    let exitcode = node.entry(&id).join("exitcode");
    super::fake::until("the action ends", || exitcode.exists()).await;
    // No message came in between: the next one is the answer to this.
    let status = node.status(&id).await;
    assert_eq!(
        (status.status, status.exitcode),
        (TransactionStatus::Failure, Some(7))
    );
}

#[tokio::test]
async fn quick_modules_answer_also_while_every_place_is_taken() {
    let node = Node::start_with(|config, _| config.max_concurrent_actions = 1).await;
    let id = node.command("sleep 1000").await;
    node.blocking("ping", "ping", &json!({"sender_timestamp": ""}));
    assert_eq!(node.broker.results().await, json!({"request_hops": []}));
    node.blocking("echo", "echo", &json!({"argument": "marco"}));
    assert_eq!(node.broker.results().await, json!({"outcome": "marco"}));
    assert_eq!(node.status(&id).await.status, TransactionStatus::Running);
    node.handle(PxpMessageBody::Cancel {
        transaction_id: id,
        force: true,
    });
    assert!(node.broker.result().await.cancelled);
}

#[tokio::test]
async fn every_exit_code_is_true() {
    let node = Node::start().await;
    for code in 0..=255 {
        let result = run(&node, &format!("exit {code}")).await;
        assert_eq!((result.exitcode, result.signal), (code, None));
    }
}

#[tokio::test]
async fn a_signal_is_told_as_shells_do_and_named() {
    let node = Node::start().await;
    for signal in [1, 9, 11, 15] {
        let result = run(&node, &format!("kill -{signal} $$")).await;
        assert_eq!(
            (result.exitcode, result.signal),
            (128 + i64::from(signal), Some(signal))
        );
    }
}

#[tokio::test]
async fn output_that_is_no_text_is_carried_exactly() {
    let node = Node::start().await;
    let result = run(&node, r"printf 'caf\351'; printf 'a\0b' >&2").await;
    assert_eq!(result.stdout.as_deref(), Some("caf\u{fffd}"));
    assert_eq!(
        BASE64.decode(result.stdout_base64.unwrap()).unwrap(),
        b"caf\xe9"
    );
    assert_eq!(result.stderr.as_deref(), Some("a\u{fffd}b"));
    assert_eq!(
        BASE64.decode(result.stderr_base64.unwrap()).unwrap(),
        b"a\0b"
    );
}

#[tokio::test]
async fn a_large_output_is_cut_and_its_size_told() {
    let node = Node::start_with(|config, _| config.max_output_bytes = 1000).await;
    let id = node
        .command("head -c 70000000 /dev/zero | tr '\\0' 'x'")
        .await;
    let result = node.broker.result().await;
    assert_eq!(result.stdout.unwrap().len(), 1000);
    assert!(result.stdout_truncated);
    assert_eq!(result.stdout_bytes, Some(70_000_000));
    let kept = std::fs::metadata(node.entry(&id).join("stdout"))
        .unwrap()
        .len();
    assert_eq!(kept, 70_000_000, "all of it is in the spool");
}

/// A pxp-agent delivers 20 MB too.
#[tokio::test]
async fn a_stock_controller_gets_the_whole_output_or_an_error_and_never_a_part() {
    let node = Node::start_with(|config, _| config.max_message_bytes = 21_000_000).await;
    let stock = |module: &str, action: &str, params: Value| PxpRequest {
        extended: None,
        file_servers: Vec::new(),
        ..request(module, action, &params, Some(true))
    };
    let print = |bytes: u32| {
        let command = format!("head -c {bytes} /dev/zero | tr '\\0' 'x'");
        stock("command", "run", json!({ "command": command }))
    };
    node.handle(PxpMessageBody::BlockingRequest(print(20_000_000)));
    let result = node.broker.result().await;
    assert_eq!((result.exitcode, result.stdout_truncated), (0, false));
    assert_eq!(result.stdout.unwrap().len(), 20_000_000);

    let large = print(22_000_000);
    let id = large.transaction_id.clone();
    node.handle(PxpMessageBody::BlockingRequest(large.clone()));
    let expected = "Message size: 22000000 exceeded max-message-size 21000000";
    assert_eq!(node.broker.error().await, expected);
    node.handle(PxpMessageBody::NonBlockingRequest(large));
    assert_eq!(node.broker.provisional().await, id);
    assert_eq!(node.broker.error().await, expected);
    let query = stock("status", "query", json!({ "transaction_id": id }));
    node.handle(PxpMessageBody::BlockingRequest(query));
    assert_eq!(node.broker.error().await, expected);
    let status = node.status(&id).await;
    assert!(status.stdout_truncated, "a requester that understands it");
}

#[tokio::test]
async fn a_result_never_exceeds_the_largest_message() {
    let node = Node::start_with(|config, _| config.max_message_bytes = 100_000).await;
    // Each of these characters takes six bytes in JSON.
    node.blocking(
        "command",
        "run",
        &json!({"command": "head -c 90000 /dev/zero | tr '\\0' '\\001'"}),
    );
    let PxpMessageBody::BlockingResponse(response) = node.broker.next().await else {
        panic!("no response")
    };
    assert!(response.results.get().len() < 100_000);
    let result: ActionResult = serde_json::from_str(response.results.get()).unwrap();
    assert!(result.stdout_truncated && result.stdout_bytes == Some(90_000));
}

#[tokio::test]
async fn what_a_command_leaves_running_does_not_hold_it_up() {
    let node = Node::start().await;
    let marker = node.dir.path().join("pid");
    let command = format!("sleep 1000 & echo $! >{}; echo done", marker.display());
    let result = tokio::time::timeout(PATIENCE, run(&node, &command))
        .await
        .unwrap();
    assert_eq!(result.stdout.as_deref(), Some("done\n"));
    let pid: i32 = std::fs::read_to_string(marker)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)
        .expect("a daemon that a task started goes on");
}

#[tokio::test]
async fn output_written_right_after_the_end_of_the_main_process_counts() {
    let node = Node::start().await;
    let result = run(&node, "(sleep 0.05; echo late) & echo early").await;
    assert_eq!(result.stdout.as_deref(), Some("early\nlate\n"));
}

#[tokio::test]
async fn the_environment_is_scrubbed_and_the_place_is_the_root() {
    let node = Node::start().await;
    // Cargo sets these for every test.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let result = run(&node, "env; pwd").await;
    let stdout = result.stdout.unwrap();
    assert!(!stdout.contains("CARGO"), "{stdout}");
    assert!(stdout.contains("PATH="), "{stdout}");
    assert!(stdout.lines().any(|line| line == "/"), "{stdout}");
}

#[tokio::test]
async fn no_descriptor_of_the_agent_or_the_wrapper_reaches_the_action() {
    let node = Node::start().await;
    // Open in the agent and inherited by its children, as from a careless parent process.
    let inherited = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
    let result = run(&node, "ls /proc/self/fd").await;
    assert_eq!(
        result.stdout.as_deref(),
        Some("0\n1\n2\n3\n"),
        "3 is the directory that ls reads"
    );
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_with_the_place() {
    let node = Node::start().await;
    let bad_task = json!({"task": "m", "input": {}, "files": []});
    for (module, action, params, expected) in [
        ("nope", "run", json!({}), "unknown module: nope"),
        (
            "command",
            "walk",
            json!({}),
            "unknown action 'walk' for module 'command'",
        ),
        (
            "command",
            "run",
            json!({}),
            "invalid input for blocking 'command run' request",
        ),
        (
            "command",
            "run",
            json!({"command": "a", "x": 1}),
            "unknown key \"x\"",
        ),
        ("task", "run", bad_task, "`files` is empty"),
    ] {
        let id = node.blocking(module, action, &params);
        let error = node.broker.error().await;
        assert!(error.contains(expected), "{error}");
        assert!(!node.entry(&id).exists());
    }
    node.non_blocking("ping", "ping", &json!({}));
    let error = node.broker.error().await;
    assert_eq!(
        error,
        "the module 'ping' supports only blocking PXP requests"
    );
}

#[tokio::test]
async fn what_exceeds_the_queue_is_refused_and_the_rest_runs() {
    let node = Node::start_with(|config, _| {
        config.max_concurrent_actions = 1;
        config.max_queued_actions = 1;
    })
    .await;
    let first = node.command("sleep 1000").await;
    let second = node.command("echo second").await;
    node.non_blocking("command", "run", &json!({"command": "echo third"}));
    let error = node.broker.error().await;
    assert!(
        error.contains("already runs or queues 2 actions"),
        "{error}"
    );
    assert_eq!(
        node.status(&second).await.status,
        TransactionStatus::Running,
        "it waits"
    );
    node.handle(PxpMessageBody::Cancel {
        transaction_id: first,
        force: true,
    });
    assert!(node.broker.result().await.cancelled);
    assert_eq!(
        node.broker.result().await.stdout.as_deref(),
        Some("second\n")
    );
}

#[tokio::test]
async fn a_program_that_cannot_be_run_says_so_on_stderr() {
    let node = Node::start_with(|config, dir| {
        config.wrapper.insert(0, "/usr/bin/env".into());
        config.wrapper[0] = dir.join("no-such-wrapper").into_os_string();
    })
    .await;
    node.blocking("command", "run", &json!({"command": "true"}));
    let error = node.broker.error().await;
    assert!(error.contains("cannot start the wrapper"), "{error}");
}
