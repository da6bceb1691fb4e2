//! Full disks. A limit on the size of files simulates one: writes fail in the same place, and no
//! mount is needed.

use std::os::unix::fs::MetadataExt;

use pxp::action::TransactionStatus;
use serde_json::json;

use super::fake::{Node, until};

const MIB: u64 = 1024 * 1024;

/// A node whose wrappers and actions cannot create files larger than this.
async fn limited(kibibytes: u32) -> Node {
    Node::start_with(|config, _| {
        let wrapper = config.wrapper.remove(0);
        // If the signal is ignored, the write fails with an error.
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
    assert_eq!(node.status(&id).await.status, TransactionStatus::Failure);
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

/// A small file system of its own, unmounted on drop; the output of an action fills it.
struct TinyDisk(std::path::PathBuf);

impl TinyDisk {
    /// Mounts the file system; `None`: this user may not mount.
    #[expect(
        clippy::print_stdout,
        reason = "who reads the test's output is to know"
    )]
    fn mount(at: std::path::PathBuf) -> Option<Self> {
        std::fs::create_dir_all(&at).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"])
            .arg(&at)
            .output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            println!("NOT RUN: this user may not mount a small disk; run the test as root");
            return None;
        }
        Some(Self(at))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let unmount = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
        assert!(unmount.is_ok_and(|status| status.success()));
    }
}

#[tokio::test]
async fn an_action_whose_output_found_no_room_is_told_with_cause_place_and_step() {
    let dir = tempfile::tempdir().unwrap();
    let spool = dir.path().join("spool");
    let Some(_disk) = TinyDisk::mount(spool.clone()) else {
        return;
    };
    let mut node = Node::start_with(|config, _| config.spool_dir = spool.clone()).await;
    let go = node.dir.path().join("go");
    let (begun, filler) = (node.dir.path().join("begun"), spool.join("filler"));
    let wait = format!(
        "touch {}; until [ -e {} ]; do sleep 0.01; done",
        begun.display(),
        go.display()
    );

    node.command(&format!("{wait}; echo words || exit 1")).await;
    until("the action runs", || begun.exists()).await;
    let zeros = std::fs::File::open("/dev/zero").unwrap();
    let mut file = std::fs::File::create(&filler).unwrap();
    std::io::copy(&mut std::io::Read::take(zeros, 2 * MIB), &mut file).unwrap_err();
    std::fs::write(&go, "").unwrap();
    let result = node.broker.result().await;
    assert_eq!((result.exitcode, result.stdout), (1, None));
    let told = result.stderr.unwrap();
    for part in [
        spool.to_str().unwrap(),
        "was full",
        "No space left on device",
        "make room",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    // The next agent sends the outcome again: it was recorded on the full disk.
    node.restart().await;
    let again = node.broker.result().await;
    assert_eq!((again.exitcode, again.stderr), (1, Some(told)));

    drop(file);
    std::fs::remove_file(&filler).unwrap();
    node.blocking("command", "run", &json!({"command": "echo words"}));
    // The first outcome, which is not acknowledged, may arrive again in between.
    let result = loop {
        let result = node.broker.result().await;
        if result.exitcode == 0 {
            break result;
        }
    };
    assert_eq!(
        (result.stdout.as_deref(), result.stderr),
        (Some("words\n"), None),
        "nothing is said of a disk with room"
    );
}
