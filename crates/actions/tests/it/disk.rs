//! Disks that fill up. A limit on the size of files stands in for one that is
//! full: writes fail in the same place, and no mount is needed.

use std::os::unix::fs::MetadataExt;

use pxp::action::Status;
use serde_json::json;

use super::fake::{Node, until};

const MIB: u64 = 1024 * 1024;

/// A node whose wrappers and actions cannot make files larger than this.
async fn limited(kibibytes: u32) -> Node {
    Node::start_with(|config, _| {
        let wrapper = config.wrapper.remove(0);
        // Ignored, the signal becomes an error of the write.
        let script = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$0\" \"$@\"");
        config.wrapper = vec!["/bin/bash".into(), "-c".into(), script.into(), wrapper];
    })
    .await
}

#[tokio::test]
async fn an_action_whose_end_could_not_be_recorded_is_not_started() {
    let node = limited(1).await;
    let marker = node.dir.path().join("ran");
    let id = node.command(&format!("touch {}", marker.display())).await;
    let error = node.broker.error().await;
    assert!(error.contains("cannot write to"), "{error}");
    assert_eq!(node.status(&id).await.status, Status::Failure);
    assert!(!marker.exists());
}

#[tokio::test]
async fn an_action_that_fills_the_disk_is_still_recorded() {
    let node = limited(64).await;
    let id = node
        .command("head -c 1000000 /dev/zero | tr '\\0' z; exit ${PIPESTATUS[1]}")
        .await;
    let result = node.broker.result().await;
    assert_ne!(result.exitcode, 0, "the writer was told");
    assert_eq!(result.stdout.unwrap().len(), 64 * 1024);
    assert_eq!(node.status(&id).await.exitcode, Some(result.exitcode));
}

#[tokio::test]
async fn a_request_that_cannot_be_recorded_is_refused_and_the_agent_stays() {
    let node = Node::start().await;
    let away = node.dir.path().join("away");
    std::fs::rename(&node.config.spool_dir, &away).unwrap();
    let marker = node.dir.path().join("ran");
    let params = json!({"command": format!("touch {}", marker.display())});
    node.non_blocking("command", "run", &params);
    let error = node.broker.error().await;
    assert!(error.contains("cannot record the request"), "{error}");
    node.blocking("command", "run", &params);
    let error = node.broker.error().await;
    assert!(error.contains("cannot make room"), "{error}");
    std::fs::rename(&away, &node.config.spool_dir).unwrap();
    assert!(!marker.exists());
    node.blocking("command", "run", &params);
    assert_eq!(node.broker.result().await.exitcode, 0);
}

#[tokio::test]
async fn output_beyond_the_limit_gives_its_room_back_while_the_action_goes_on() {
    let node = Node::start_with(|config, _| config.max_spool_output_bytes = MIB).await;
    let go_on = node.dir.path().join("go-on");
    let zs = |mib: u64| format!("head -c {} /dev/zero | tr '\\0' z", mib * MIB);
    let id = node
        .command(&format!(
            "{}; until [ -e {} ]; do sleep 0.01; done; {}; echo fine >&2; exit 7",
            zs(20),
            go_on.display(),
            zs(10),
        ))
        .await;
    let stdout = node.entry(&id).join("stdout");
    until("the room is given back", || {
        std::fs::metadata(&stdout)
            .is_ok_and(|file| file.len() == 20 * MIB && file.blocks() * 512 < 2 * MIB)
    })
    .await;
    std::fs::write(&go_on, "").unwrap();
    let result = node.broker.result().await;
    assert_eq!((result.exitcode, result.signal), (7, None));
    assert_eq!(result.stderr.as_deref(), Some("fine\n"));
    assert!(result.stdout_truncated);
    assert_eq!(result.stdout_bytes, Some(30 * MIB), "all of it is counted");
    let kept = result.stdout.unwrap();
    assert_eq!(kept.len() as u64, MIB);
    assert!(
        kept.bytes().all(|byte| byte == b'z'),
        "what is kept is true"
    );
    let room = std::fs::metadata(&stdout).unwrap().blocks() * 512;
    assert!(room < 2 * MIB, "{room}");
}
