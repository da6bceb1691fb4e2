//! `tutti quickstart --puppet`, with the installed Puppet and without one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use testkit::peers::puppet_agent::PUPPET;
use tokio::process::Command;

use crate::site::{outcome, programs};

const NODES: [&str; 3] = ["anna.quickstart", "ben.quickstart", "carla.quickstart"];

/// Directories of Puppet on a machine, into which the agents of a quickstart must not write.
const PUPPET_OF_THE_MACHINE: [&str; 7] = [
    "/etc/puppet",
    "/etc/puppetlabs",
    "/var/lib/puppet",
    "/var/cache/puppet",
    "/var/log/puppet",
    "/var/log/puppetlabs",
    "/run/puppetlabs",
];

/// The directory with `puppet`, if the packages of Puppet itself have installed one.
const PACKAGE_DIRECTORY: &str = "/opt/puppetlabs/bin";

async fn quickstart(directory: &Path, path: Option<&Path>) -> Output {
    let mut command = Command::new(programs().tutti);
    command
        .args(["quickstart", "--puppet", "--directory"])
        .arg(directory)
        // With it, the agent would be built, as after `cargo run`.
        .env_remove("CARGO")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.output().await.unwrap()
}

/// Paths and modification times of all files of the machine's Puppet.
fn state_of_the_machine() -> BTreeMap<PathBuf, std::time::SystemTime> {
    let mut found = BTreeMap::new();
    let mut left: Vec<PathBuf> = PUPPET_OF_THE_MACHINE.iter().map(PathBuf::from).collect();
    while let Some(path) = left.pop() {
        let Ok(metadata) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            left.extend(entries.map(|entry| entry.unwrap().path()));
        }
        found.insert(path, metadata.modified().unwrap());
    }
    found
}

#[tokio::test]
async fn a_quickstart_with_puppet_shows_three_real_agents() {
    if !Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let before = state_of_the_machine();
    let root = tempfile::tempdir().unwrap();
    let (status, printed) = outcome(&quickstart(root.path(), None).await);
    assert_eq!(status, Some(0), "{printed}");
    assert_eq!(state_of_the_machine(), before);

    // enrolment, and the first catalog, which is of a deployed version
    for node in NODES {
        let home = root.path().join("agents").join(node);
        let certificate = home.join(format!("puppet/ssl/certs/{node}.pem"));
        assert!(certificate.is_file(), "{printed}");
        let managed = home.join("managed");
        let read = |path: &str| std::fs::read_to_string(managed.join(path)).unwrap();
        assert_eq!(read("motd"), "This node is managed by Puppet.\n");
        assert_eq!(read("motd.d/10-help"), "Ask the operators for help.\n");
        assert!(read("system").starts_with(node), "{printed}");
    }
    let live = root.path().join("code/environments/production");
    assert!(live.is_symlink(), "{printed}");
    assert!(
        printed.contains("Downloaded certificate for anna.quickstart"),
        "{printed}"
    );

    // `tutti report list`: the corrected drift, unchanged runs of all, first runs of all
    let (_, reports) = printed.split_once("$ tutti report list").unwrap();
    let runs = |word: &str| {
        let lines = reports.lines().filter(|line| line.contains(".quickstart "));
        lines.filter(|line| line.contains(word)).count()
    };
    assert_eq!(runs(" changed (corrective) "), 1, "{printed}");
    assert_eq!(runs(" unchanged "), 3, "{printed}");
    assert_eq!(runs(" changed  "), 3, "{printed}");
    assert!(
        printed.contains("changed by hand"),
        "the drift is shown: {printed}"
    );

    // one compilation for each node
    let log = std::fs::read_to_string(root.path().join("server.log")).unwrap();
    assert_eq!(log.matches("catalog compiled").count(), 3, "{log}");
}

#[tokio::test]
async fn a_quickstart_with_puppet_says_what_is_missing() {
    if Path::new(PACKAGE_DIRECTORY).join("puppet").exists() {
        eprintln!("SKIPPED: {PACKAGE_DIRECTORY} has a puppet, which is always found");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let empty = root.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let installation = root.path().join("installation");
    let (status, printed) = outcome(&quickstart(&installation, Some(&empty)).await);
    assert_eq!(status, Some(64), "{printed}");
    for words in [
        "there is no program `puppet`",
        "apt install puppet-agent",
        "openvox-agent",
    ] {
        assert!(printed.contains(words), "{printed}");
    }
    assert!(!installation.exists(), "{printed}");

    // an old Puppet, and no git
    let install = async |version: &str| {
        // Written by another process: this one may start a program at the same time, which would inherit the
        // open file, and an open file cannot be executed.
        let script = format!("printf '#!/bin/sh\necho {version}\n' > puppet && chmod 755 puppet");
        let mut shell = Command::new("sh");
        let written = shell.current_dir(&empty).args(["-c", &script]).status();
        assert!(written.await.unwrap().success());
    };
    install("6.28.0").await;
    let (status, printed) = outcome(&quickstart(&installation, Some(&empty)).await);
    assert_eq!(status, Some(64), "{printed}");
    assert!(printed.contains("is Puppet 6.28.0"), "{printed}");
    install("8.10.0").await;
    let (status, printed) = outcome(&quickstart(&installation, Some(&empty)).await);
    assert_eq!(status, Some(64), "{printed}");
    assert!(printed.contains("install the package git"), "{printed}");
    assert!(!installation.exists(), "{printed}");
}
