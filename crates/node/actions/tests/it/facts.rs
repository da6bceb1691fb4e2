//! Facts: the number of collections, and the cleanup of the programs that print facts.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::fake::{Node, PATIENCE, until, wrapper};

/// Installs programs named like Puppet and Facter in `directory`.
fn install(directory: &Path, body: &str) {
    std::fs::create_dir_all(directory).unwrap();
    for name in ["puppet", "facter"] {
        let file = directory.join(name);
        std::fs::write(&file, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A node with such programs, whose facts stay fresh for `fresh`.
async fn node(fresh: Duration, body: impl FnOnce(&Path) -> String) -> Node {
    Node::start_with(|config, dir| {
        install(&dir.join("bin"), &body(dir));
        config.facts_programs = dir.join("bin");
        config.facts_min_interval = fresh;
    })
    .await
}

fn runs(ledger: &Path) -> usize {
    std::fs::read_to_string(ledger).map_or(0, |text| text.lines().count())
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn programs_that_tell_no_object_in_time_and_size_are_passed_over() {
    for (body, source) in [
        ("echo '{\"kernel\": \"Other\"}'", "puppet"),
        ("echo '{}'; exit 3", "native"),
        ("echo kernel = Linux", "native"),
        ("echo '[1]'", "native"),
        ("head -c 2000000 /dev/zero", "native"),
    ] {
        let node = node(Duration::ZERO, |_| body.to_owned()).await;
        node.blocking("facts", "collect", &json!({}));
        let answer = node.broker.results().await;
        assert_eq!(answer["source"], source, "{body}");
    }
}

#[tokio::test]
async fn facts_are_collected_once_at_a_time_and_not_while_they_are_fresh() {
    let told = "echo '{\"kernel\": \"Other\"}'";
    let fresh = node(PATIENCE * 60, |dir| {
        format!("echo ran >>{}; {told}", dir.join("ledger").display())
    })
    .await;
    for _ in 0..3 {
        fresh.blocking("facts", "collect", &json!({}));
    }
    for _ in 0..3 {
        assert_eq!(fresh.broker.results().await["facts"]["kernel"], "Other");
    }
    fresh.blocking("facts", "collect", &json!({}));
    assert_eq!(fresh.broker.results().await["facts"]["kernel"], "Other");
    assert_eq!(runs(&fresh.dir.path().join("ledger")), 1);

    // A second program beside the first would find its directory.
    let never_fresh = node(Duration::ZERO, |dir| {
        let (lock, ledger) = (dir.join("lock"), dir.join("ledger"));
        let (lock, ledger) = (lock.display(), ledger.display());
        format!("mkdir {lock} || exit 1; echo ran >>{ledger}; sleep 0.1; rmdir {lock}; {told}")
    })
    .await;
    for _ in 0..3 {
        never_fresh.blocking("facts", "collect", &json!({}));
    }
    for _ in 0..3 {
        assert_eq!(never_fresh.broker.results().await["source"], "puppet");
    }
    assert_eq!(runs(&never_fresh.dir.path().join("ledger")), 3);
}

#[tokio::test]
async fn an_agent_that_stops_ends_the_programs_that_tell_facts() {
    let node = node(Duration::ZERO, |dir| {
        let pids = dir.join("pids").display().to_string();
        format!("setsid sleep 1000 & echo $$ $! >{pids}.new; mv {pids}.new {pids}; sleep 1000")
    })
    .await;
    node.blocking("facts", "collect", &json!({}));
    let file = node.dir.path().join("pids");
    until("it runs", || file.exists()).await;
    let pids = std::fs::read_to_string(&file).unwrap();
    node.engine.shutdown(PATIENCE).await;
    until("all of it has ended", || {
        !pids.split_whitespace().any(is_alive)
    })
    .await;
}

/// A `kill -9` of the agent closes its end of the pipe.
#[tokio::test]
async fn a_killed_agent_takes_the_programs_that_tell_facts_along() {
    let mut attendant = Command::new(wrapper())
        .args(["+attend", "/bin/sh", "-c"])
        .arg("setsid sleep 1000 & echo $$ $!; sleep 1000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pids = String::new();
    let mut stdout = BufReader::new(attendant.stdout.take().unwrap());
    stdout.read_line(&mut pids).unwrap();
    assert!(pids.split_whitespace().all(is_alive), "{pids}");
    drop(attendant.stdin.take());
    assert!(!attendant.wait().unwrap().success());
    assert!(!pids.split_whitespace().any(is_alive), "{pids}");
}
