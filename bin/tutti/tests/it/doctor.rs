//! `tutti doctor`: one line for each fault of an installation, whether the server runs or not.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, lchown};
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tokio::process::Command;

use crate::world::World;

/// Exit code of a diagnosis with problems.
const PROBLEMS: i32 = 3;

/// A diagnosis of one configuration, as a program reads it.
struct Diagnosis {
    code: Option<i32>,
    findings: Vec<Value>,
}

// === impl Diagnosis ===

impl Diagnosis {
    async fn of(config: &Path) -> Self {
        let output = doctor(config, &["--format", "json"]).await;
        let text = String::from_utf8_lossy(&output.stdout);
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
        });
        Self {
            code: output.status.code(),
            findings: document["findings"].as_array().unwrap().clone(),
        }
    }

    /// The findings of one check with this severity.
    fn of_check(&self, check: &str, severity: &str) -> Vec<&Value> {
        let findings = self.findings.iter();
        let is_meant = |it: &&Value| it["check"] == check && it["severity"] == severity;
        findings.filter(is_meant).collect()
    }

    #[track_caller]
    fn has_one(&self, check: &str, severity: &str, part: &str) {
        let found = self.of_check(check, severity);
        assert_eq!(found.len(), 1, "{:#?}", self.findings);
        let text = found[0].to_string();
        assert!(text.contains(part), "{text}");
    }
}

async fn doctor(config: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tutti"));
    command.arg("doctor").arg("--config").arg(config);
    command.args(arguments).kill_on_drop(true);
    command.output().await.unwrap()
}

/// Gives a file, or everything below a directory, to another user.
fn give(path: &Path, owner: u32) {
    lchown(path, Some(owner), Some(owner)).unwrap();
    if path.is_dir() {
        let entries = std::fs::read_dir(path).unwrap();
        entries.for_each(|entry| give(&entry.unwrap().path(), owner));
    }
}

#[tokio::test]
async fn a_broken_configuration_is_a_finding_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("tutti.toml");
    std::fs::write(&config, "certname = 'a'\n[jobs]\nkeep_dais = 3\n").unwrap();
    let diagnosis = Diagnosis::of(&config).await;
    assert_eq!(diagnosis.code, Some(PROBLEMS));
    diagnosis.has_one("configuration", "problem", "line 3");
    let missing = Diagnosis::of(&directory.path().join("none.toml")).await;
    missing.has_one("configuration", "problem", "none.toml");
}

#[tokio::test]
async fn an_installation_that_works_has_no_problem() {
    let mut world = World::start(&[]).await;
    let config = world.root().join("tutti.toml");
    let running = Diagnosis::of(&config).await;
    running.has_one("files", "ok", "");
    world.kill_server().await;
    let stopped = Diagnosis::of(&config).await;
    stopped.has_one("files", "ok", "");
    let output = doctor(&config, &[]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nok ") && text.contains(" ok\n"), "{text}");
    world.stop().await;
}

#[tokio::test]
async fn a_ca_that_root_has_written_to_is_one_line_with_its_chown() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give files to another user");
        return;
    }
    let mut world = World::start(&[]).await;
    world.kill_server().await;
    std::fs::set_permissions(world.root(), Permissions::from_mode(0o755)).unwrap();
    give(&world.installation.data_dir(), 4242);
    let ca = world.installation.ca_dir();
    for name in ["ca_crl.pem", "serial", "inventory.txt", "signed"] {
        give(&ca.join(name), 0);
    }
    std::fs::set_permissions(ca.join("signed"), Permissions::from_mode(0o750)).unwrap();
    let config = world.root().join("tutti.toml");
    let diagnosis = Diagnosis::of(&config).await;
    assert_eq!(diagnosis.code, Some(PROBLEMS));
    diagnosis.has_one("files", "problem", "chown -R");
    world.stop().await;
}
