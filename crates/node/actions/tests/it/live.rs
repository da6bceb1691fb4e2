//! Live output, within the credit.

use pxp::{OutputPiece, ProcessStream, PxpMessageBody};
use serde_json::json;

use super::fake::{Node, until};
use super::tasks::cached;

impl Node {
    async fn output(&self) -> OutputPiece {
        match self.broker.next().await {
            PxpMessageBody::Output(output) => output,
            other => panic!("no output: {other:?}"),
        }
    }
}

#[tokio::test]
async fn output_comes_before_the_action_ends_and_the_outcome_is_complete() {
    let node = Node::start().await;
    let go = node.dir.path().join("go");
    let command = format!(
        "echo first; echo oops >&2; while [ ! -e {} ]; do sleep 0.02; done; echo last",
        go.display()
    );
    let id = node.command(&command).await;
    until("it runs", || node.entry(&id).join("pid").exists()).await;
    node.handle(PxpMessageBody::OutputCredit {
        transaction_id: id.clone(),
        until: 1_000_000,
    });
    let mut seen = Vec::new();
    for _ in 0..2 {
        let output = node.output().await;
        assert_eq!(output.transaction_id, id);
        seen.push((output.stream.as_str(), output.offset, output.data.to_vec()));
    }
    seen.sort();
    assert_eq!(
        seen,
        [
            ("stderr", 0, b"oops\n".to_vec()),
            ("stdout", 0, b"first\n".to_vec())
        ]
    );
    std::fs::write(&go, "").unwrap();
    let last = node.output().await;
    assert_eq!(
        (last.stream, last.offset, &last.data[..]),
        (ProcessStream::Stdout, 6, &b"last\n"[..])
    );
    let result = node.broker.result().await;
    assert_eq!(result.stdout.as_deref(), Some("first\nlast\n"));
}

#[tokio::test]
async fn credit_right_behind_the_request_is_not_lost() {
    let node = Node::start().await;
    let command = json!({"command": "echo early; sleep 1000"});
    let id = node.non_blocking("command", "run", &command);
    node.handle(PxpMessageBody::OutputCredit {
        transaction_id: id.clone(),
        until: 1_000,
    });
    let output = loop {
        match node.broker.next().await {
            PxpMessageBody::Output(output) => break output,
            PxpMessageBody::ProvisionalResponse { .. } => {}
            other => panic!("no output: {other:?}"),
        }
    };
    assert_eq!(
        (output.transaction_id, &output.data[..]),
        (id.clone(), &b"early\n"[..])
    );
    node.handle(PxpMessageBody::Cancel {
        transaction_id: id,
        force: true,
    });
    node.broker.result().await;
}

#[tokio::test]
async fn not_a_byte_comes_without_credit() {
    let node = Node::start().await;
    let id = node.command("printf 0123456789; sleep 1000").await;
    let stdout = node.entry(&id).join("stdout");
    until("it has written", || {
        std::fs::metadata(&stdout).is_ok_and(|file| file.len() == 10)
    })
    .await;
    let mut received = Vec::new();
    for until in [4, 4, 7, 6, 10] {
        node.handle(PxpMessageBody::OutputCredit {
            transaction_id: id.clone(),
            until,
        });
        if until as usize > received.len() {
            let output = node.output().await;
            assert_eq!(output.offset as usize, received.len());
            received.extend_from_slice(&output.data);
        }
        assert!(received.len() <= until.max(7) as usize);
    }
    assert_eq!(received, b"0123456789");
    node.handle(PxpMessageBody::Cancel {
        transaction_id: id,
        force: true,
    });
    assert!(node.broker.result().await.cancelled);
}

#[tokio::test]
async fn the_output_of_an_ended_action_can_be_fetched_beyond_its_result() {
    let node = Node::start_with(|config, _| config.max_output_bytes = 10).await;
    let id = node
        .command("head -c 100000 /dev/zero | tr '\\0' 'y'")
        .await;
    assert!(node.broker.result().await.stdout_truncated);
    node.handle(PxpMessageBody::OutputCredit {
        transaction_id: id,
        until: 1_000_000,
    });
    let mut received = 0;
    while received < 100_000 {
        let output = node.output().await;
        assert_eq!(output.offset, received);
        received += output.data.len() as u64;
    }
    assert_eq!(received, 100_000);
}

const CANARY: &str = "canary-7c1e-hunter2";

#[tokio::test]
async fn live_output_and_the_spool_respect_sensitive() {
    let node = Node::start().await;
    let go = node.dir.path().join("go");
    let script = format!(
        "#!/bin/sh\nprintf '{{\"user\": \"x\", \"_sensitive\": {{\"pw\": \"{CANARY}\"'\necho seen >&2\n\
         while [ ! -e {} ]; do sleep 0.02; done\nprintf '}}, \"n\": 1}}'\n",
        go.display()
    );
    let file = cached(&node, "init.sh", &script);
    let task = json!({"task": "m", "input": {}, "files": [file]});
    let id = node.non_blocking("task", "run", &task);
    node.handle(PxpMessageBody::OutputCredit {
        transaction_id: id.clone(),
        until: 1_000_000,
    });
    let stdout = node.entry(&id).join("stdout");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let collect = |output: OutputPiece, out: &mut Vec<u8>, err: &mut Vec<u8>| match output.stream {
        ProcessStream::Stdout => out.extend_from_slice(&output.data),
        ProcessStream::Stderr => err.extend_from_slice(&output.data),
    };
    // Standard error goes on although a part of standard output is held back.
    while err != b"seen\n" || out.is_empty() {
        match node.broker.next().await {
            PxpMessageBody::Output(output) => collect(output, &mut out, &mut err),
            PxpMessageBody::ProvisionalResponse { .. } => {}
            other => panic!("no output: {other:?}"),
        }
    }
    // The file's mode protects it until the orchestrator has the outcome.
    let mode = std::os::unix::fs::PermissionsExt::mode(&stdout.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(&go, "").unwrap();
    let result = loop {
        match node.broker.next().await {
            PxpMessageBody::Output(output) => collect(output, &mut out, &mut err),
            PxpMessageBody::NonBlockingResponse(response) => break response.results.to_string(),
            other => panic!("no result: {other:?}"),
        }
    };
    assert!(
        result.contains(CANARY),
        "the orchestrator gets it: {result}"
    );
    let out = String::from_utf8(out).unwrap();
    assert!(
        out.starts_with("{\"user\": \"x\", \"_sensitive\"") && !out.contains(CANARY),
        "{out}"
    );

    let written = std::fs::read_to_string(&stdout).unwrap();
    node.handle(PxpMessageBody::OutcomeAck {
        transaction_id: id.clone(),
    });
    let spool = node.config.spool_dir.clone();
    until("nothing in the spool has it", || {
        files_with(&spool, CANARY).is_empty()
    })
    .await;
    let left = std::fs::read_to_string(&stdout).unwrap();
    assert_eq!(left.len(), written.len());
    let left: serde_json::Value = serde_json::from_str(&left).unwrap();
    assert_eq!(left, json!({"user": "x", "n": 1}));
}

fn files_with(directory: &std::path::Path, text: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_with(&path, text)),
            // Replaced content existed and is gone.
            false => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                if bytes.windows(text.len()).any(|it| it == text.as_bytes()) {
                    found.push(path);
                }
            }
        }
    }
    found
}
