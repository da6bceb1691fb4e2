//! Environment of an action's process, and the reported and kept parts of its output.
//! `docs/stock-peers.md` has the numbers of these behaviours.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pxp::action::{ActionResult, TransactionStatus};
use serde_json::{Value, json};

use super::fake::{Node, until};
use super::tasks::cached;

async fn blocking(node: &Node, command: &str) -> ActionResult {
    node.blocking("command", "run", &json!({ "command": command }));
    node.broker.result().await
}

#[tokio::test]
async fn the_spool_is_laid_out_as_pxp_agents_and_closed_to_others() {
    let node = Node::start().await;
    let id = node.command("echo out; echo err >&2; exit 3").await;
    node.broker.result().await;
    let entry = node.entry(&id);
    let text = |name: &str| std::fs::read_to_string(entry.join(name)).unwrap();
    until("the end is recorded", || {
        text("metadata").contains(r#""status":"failure""#)
    })
    .await;

    assert_eq!(text("stdout"), "out\n");
    assert_eq!(text("stderr"), "err\n");
    assert_eq!(text("exitcode"), "3", "without a line's end");
    let pid = text("pid");
    assert!(
        pid.ends_with('\n') && pid.trim().parse::<u32>().is_ok(),
        "{pid:?}"
    );

    assert!(text("metadata").ends_with("}\n"));
    let metadata: Value = serde_json::from_str(&text("metadata")).unwrap();
    for (key, expected) in [
        ("requester", json!("pcp://orch.example.com:8143/server")),
        ("module", json!("command")),
        ("action", json!("run")),
        ("request_params", json!("{}")),
        ("transaction_id", json!(id)),
        ("notify_outcome", json!(true)),
        ("status", json!("failure")),
        ("results_are_valid", json!(true)),
    ] {
        assert_eq!(metadata[key], expected, "{key}");
    }
    let time = |key: &str| metadata[key].as_str().unwrap().parse::<jiff::Timestamp>();
    assert!(time("start").unwrap() <= time("end").unwrap());
    assert_eq!(metadata.get("results"), None, "they are in the files");

    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for directory in [&node.config.spool_dir, &entry] {
        assert_eq!(mode(directory) & !0o750, 0, "{directory:?}");
    }
    for name in [
        "metadata",
        "stdout",
        "stderr",
        "exitcode",
        "exit.json",
        "claim.json",
    ] {
        assert_eq!(mode(&entry.join(name)) & !0o640, 0, "{name}");
    }
}

#[tokio::test]
async fn exit_codes_are_true_in_the_outcome_the_status_and_the_spool() {
    let node = Node::start().await;
    for code in [0, 1, 2, 126, 127, 128, 200, 255] {
        let id = node.command(&format!("exit {code}")).await;
        let result = node.broker.result().await;
        assert_eq!((result.exitcode, result.signal), (code, None));
        let status = node.status(&id).await;
        assert_eq!(status.exitcode, Some(code));
        let expected = if code == 0 {
            TransactionStatus::Success
        } else {
            TransactionStatus::Failure
        };
        assert_eq!(status.status, expected, "{code}");
        let file = std::fs::read_to_string(node.entry(&id).join("exitcode")).unwrap();
        assert_eq!(file, code.to_string());
    }
}

#[tokio::test]
async fn a_signal_is_a_failure_also_in_the_status() {
    let node = Node::start().await;
    let id = node.command("kill -9 $$").await;
    let result = node.broker.result().await;
    assert_eq!((result.exitcode, result.signal), (137, Some(9)));
    let status = node.status(&id).await;
    assert_eq!(status.status, TransactionStatus::Failure);
    assert_eq!((status.exitcode, status.signal), (Some(137), Some(9)));
}

/// One stream as reported: the text, and the exact bytes if they differ.
type Told = (Option<&'static str>, Option<&'static [u8]>);

const NOTHING: Told = (None, None);

#[tokio::test]
async fn output_of_any_bytes_is_told_alike_by_every_way() {
    let cases: [(&str, &str, Told, Told); 9] = [
        (
            "A33",
            r"printf 'w\303\266rld \342\230\203'",
            (Some("wörld ☃"), None),
            NOTHING,
        ),
        (
            "A34",
            r"printf 'caf\351'",
            (Some("caf\u{fffd}"), Some(b"caf\xe9")),
            NOTHING,
        ),
        (
            "A35",
            r"printf 'a\0b'",
            (Some("a\u{fffd}b"), Some(b"a\0b")),
            NOTHING,
        ),
        (
            "A36",
            r"printf 'caf\351' >&2",
            NOTHING,
            (Some("caf\u{fffd}"), Some(b"caf\xe9")),
        ),
        (
            "A37",
            r"printf 'a\0b' >&2",
            NOTHING,
            (Some("a\u{fffd}b"), Some(b"a\0b")),
        ),
        (
            "A38",
            r"printf '\377'; printf '\376' >&2",
            (Some("\u{fffd}"), Some(b"\xff")),
            (Some("\u{fffd}"), Some(b"\xfe")),
        ),
        (
            "A38, cut in a character",
            r"printf 'x\342\230'",
            (Some("x\u{fffd}"), Some(b"x\xe2\x98")),
            NOTHING,
        ),
        (
            "A39",
            r"printf '\n a\t\r\n\n'; printf ' \001 ' >&2",
            (Some("\n a\t\r\n\n"), None),
            (Some(" \u{1} "), None),
        ),
        ("A40", ":", NOTHING, NOTHING),
    ];
    let node = Node::start().await;
    for (name, command, stdout, stderr) in cases {
        let waited_for = blocking(&node, command).await;
        let id = node.command(command).await;
        let told = node.broker.result().await;
        let asked = node.status(&id).await.into_result().unwrap();
        for result in [waited_for, told, asked] {
            assert_eq!(result.exitcode, 0, "{name}");
            for (text, base64, expected) in [
                (result.stdout, result.stdout_base64, stdout),
                (result.stderr, result.stderr_base64, stderr),
            ] {
                assert_eq!(text.as_deref(), expected.0, "{name}");
                let exact = base64.map(|exact| BASE64.decode(exact).unwrap());
                assert_eq!(exact.as_deref(), expected.1, "{name}");
            }
        }
    }
}

#[tokio::test]
async fn an_action_has_a_group_and_a_session_away_from_the_agent() {
    let node = Node::start().await;
    let result = blocking(&node, "cut -d' ' -f1,5,6 /proc/$$/stat; echo $$; pwd").await;
    let stdout = result.stdout.unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    let numbers: Vec<&str> = lines[0].split(' ').collect();
    let [pid, group, session] = numbers[..] else {
        panic!("{stdout}")
    };
    assert_eq!((pid, group), (lines[1], lines[1]), "it leads its group");
    // Parsed as text: the value is 0 if the leader of our session is outside of our process
    // namespace.
    let ours = std::fs::read_to_string("/proc/self/stat").unwrap();
    assert_ne!(
        Some(session),
        ours.split(' ').nth(5),
        "a session of its own"
    );
    assert_eq!(lines[2], "/");
}

#[tokio::test]
async fn input_that_nobody_reads_does_no_harm_without_waiting_either() {
    let node = Node::start().await;
    let file = cached(&node, "init.sh", "#!/bin/sh\necho done\n");
    let input = json!({"big": "x".repeat(1024 * 1024)});
    let task = json!({"task": "m", "input": input, "files": [file], "input_method": "stdin"});
    for _ in 0..10 {
        let id = node.non_blocking("task", "run", &task);
        assert_eq!(node.broker.provisional().await, id);
        let result = node.broker.result().await;
        assert_eq!(
            (result.exitcode, result.stdout.as_deref()),
            (0, Some("done\n"))
        );
    }
    // The agent still works.
    assert_eq!(blocking(&node, "echo alive").await.exitcode, 0);
}

#[tokio::test]
async fn blocking_actions_leave_nothing_where_the_agent_stands() {
    let node = Node::start().await;
    let script = cached(&node, "s.sh", "#!/bin/sh\necho done\n");
    let directory = node.dir.path().join("made");
    let item = json!({
        "destination": directory, "kind": "directory", "link_source": "", "sha256": "",
        "uri": {"path": "/x", "params": {}},
    });
    for (module, action, params) in [
        ("command", "run", json!({"command": "echo done"})),
        ("script", "run", json!({"script": script, "arguments": []})),
        (
            "task",
            "run",
            json!({"task": "s", "input": {}, "files": [script]}),
        ),
        ("file", "download", json!({"files": [item]})),
    ] {
        node.blocking(module, action, &params);
        assert_eq!(node.broker.result().await.exitcode, 0, "{module}");
    }
    assert!(directory.is_dir());
    let here = std::env::current_dir().unwrap();
    for place in [here.as_path(), Path::new("/")] {
        for name in ["pid", "stdout", "stderr", "exitcode"] {
            assert!(!place.join(name).exists(), "{name} in {}", place.display());
        }
    }
    let scratch = node.config.spool_dir.join(".blocking");
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0);
}
