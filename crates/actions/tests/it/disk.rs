//! Disks that fill up. A limit on the size of files stands in for one that is
//! full: writes fail in the same place, and no mount is needed.

use pxp::action::Status;
use serde_json::json;

use super::fake::Node;

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
