//! State of the spool after a power cut, and the next agent's reports about it.

use std::path::{Path, PathBuf};

use pxp::action::TransactionStatus;
use pxp::{PxpMessageBody, PxpRequest, TransactionId};
use serde_json::{Value, json};

use super::fake::{Node, PATIENCE, orchestrator, request, until, wrapper};

const NOT_KNOWN: &str = "the outcome is not known";
const RESTARTED: &str = "the machine was restarted";

/// An entry of an action of an earlier boot, interrupted by a power cut, without a claim.
async fn interrupted(node: &Node) -> (TransactionId, PathBuf) {
    let model = node.command("true").await;
    assert_eq!(node.broker.result().await.exitcode, 0);
    let directory = node.entry(&model);
    until("its record is written", || {
        let record = std::fs::read_to_string(directory.join("metadata"));
        record.is_ok_and(|record| record.contains("success"))
    })
    .await;
    node.engine.shutdown(PATIENCE).await;
    let model = std::fs::read(directory.join("metadata")).unwrap();
    // Its outcome is not to be sent again.
    std::fs::remove_dir_all(directory).unwrap();
    let mut record: Value = serde_json::from_slice(&model).unwrap();
    let id = TransactionId::random();
    record["transaction_id"] = json!(id);
    record["status"] = json!("running");
    record["tutti"]["boot_id"] = json!("00000000-0000-4000-8000-000000000000");
    record["tutti"]["delivery"] = json!({"sends": 0, "acknowledged": false});
    for end in ["end", "results_are_valid"] {
        record.as_object_mut().unwrap().remove(end);
    }
    let entry = node.entry(&id);
    std::fs::create_dir(&entry).unwrap();
    std::fs::write(entry.join("metadata"), record.to_string()).unwrap();
    (id, entry)
}

#[tokio::test]
async fn an_entry_that_came_back_unreadable_is_told_at_once_as_a_restart_of_the_machine() {
    for file in ["claim.json", "exit.json"] {
        let mut node = Node::start().await;
        let (id, entry) = interrupted(&node).await;
        std::fs::write(entry.join(file), "").unwrap();
        node.restart().await;
        let error = node.broker.error().await;
        assert!(error.starts_with(NOT_KNOWN), "{file}: {error}");
        assert!(error.contains(RESTARTED), "{file}: {error}");
        let status = node.status(&id).await;
        assert_eq!(status.status, TransactionStatus::Unknown);
        assert!(status.undetermined.unwrap().contains(RESTARTED), "{file}");
    }
}

#[tokio::test]
async fn an_entry_whose_record_came_back_empty_is_told_to_whoever_asks_and_never_runs() {
    let mut node = Node::start().await;
    let (id, entry) = interrupted(&node).await;
    std::fs::write(entry.join("metadata"), "").unwrap();
    // Before this boot, and young enough for the purge.
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let uptime = uptime.split('.').next().unwrap().parse().unwrap();
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(uptime) - PATIENCE;
    let times = std::fs::FileTimes::new().set_modified(before);
    std::fs::File::open(&entry)
        .unwrap()
        .set_times(times)
        .unwrap();
    node.restart().await;
    let status = node.status(&id).await;
    assert_eq!(
        (status.status, status.spool_id),
        (TransactionStatus::Unknown, None)
    );
    assert!(status.undetermined.unwrap().contains(RESTARTED));

    let ran = node.dir.path().join("ran");
    let again = PxpRequest {
        transaction_id: id.clone(),
        ..request(
            "command",
            "run",
            &json!({"command": format!("touch {}", ran.display())}),
            Some(true),
        )
    };
    node.engine.handle(
        orchestrator(),
        pcp::MessageId::random(),
        PxpMessageBody::NonBlockingRequest(again),
    );
    assert_eq!(node.broker.provisional().await, id);
    let error = node.broker.error().await;
    assert!(
        error.starts_with(NOT_KNOWN) && error.contains(RESTARTED),
        "{error}"
    );
    assert!(!ran.exists());
}

/// A node whose wrappers are traced into the returned file.
async fn traced_node() -> (Node, PathBuf) {
    let mut log = PathBuf::new();
    let node = Node::start_with(|config, dir| {
        log = dir.join("trace");
        let calls = "trace=rename,renameat,renameat2,link,linkat,fsync,fdatasync";
        let words = ["strace", "-f", "-y", "-s", "4096", "-e", calls, "-o"];
        let words = words.iter().map(std::ffi::OsString::from);
        config.wrapper = words
            .chain([log.clone().into_os_string(), wrapper().into_os_string()])
            .collect();
    })
    .await;
    (node, log)
}

/// True if the file that became `name` was flushed first.
fn flushed_first(trace: &str, name: &str) -> bool {
    let renamed = trace
        .lines()
        .position(|line| (line.contains("rename") || line.contains("link")) && line.contains(name))
        .unwrap_or_else(|| panic!("{name} was never put in place:\n{trace}"));
    let line = trace.lines().nth(renamed).unwrap();
    let source = line.split('"').nth(1).unwrap();
    let source = Path::new(source).file_name().unwrap().to_str().unwrap();
    trace
        .lines()
        .take(renamed)
        .any(|line| line.contains("sync(") && line.contains(source))
}

#[tokio::test]
async fn every_file_of_a_promised_entry_is_flushed_before_its_name_and_a_blocking_one_never() {
    let (node, log) = traced_node().await;
    node.command("echo done").await;
    assert_eq!(node.broker.result().await.exitcode, 0);
    node.engine.shutdown(PATIENCE).await;
    let trace = std::fs::read_to_string(&log).unwrap();
    for name in ["claim.json", "exit.json"] {
        assert!(flushed_first(&trace, name), "{name}:\n{trace}");
    }

    let (node, log) = traced_node().await;
    node.blocking("command", "run", &json!({"command": "echo done"}));
    assert_eq!(node.broker.result().await.exitcode, 0);
    let trace = std::fs::read_to_string(&log).unwrap();
    assert!(trace.contains("claim.json"), "{trace}");
    assert!(!trace.contains("sync("), "{trace}");
}
