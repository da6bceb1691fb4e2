//! Tests of the bounded wait, with a short limit.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::*;

/// A `puppet` that always exits in favour of another run, and an order for it.
fn busy(dir: &Path, lock: &str) -> RunnerRequest {
    let bin = dir.join("puppet");
    let text = format!(
        "#!/bin/sh\nif [ $1 = config ]; then\necho 'config = {0}/conf'\n\
         echo 'lastrunreport = {0}/report'\necho 'agent_disabled_lockfile = {0}/disabled'\n\
         echo 'agent_catalog_run_lockfile = {lock}'\nexit 0\nfi\n\
         echo run >>{0}/runs\n\
         echo 'Notice: Run of Puppet configuration client already in progress; skipping' >>{0}/stdout\n\
         exit 1\n",
        dir.display()
    );
    std::fs::write(&bin, text).unwrap();
    std::fs::set_permissions(&bin, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config_file = dir.join("module.conf");
    let config = serde_json::json!({ "puppet_bin": bin });
    std::fs::write(&config_file, config.to_string()).unwrap();
    RunnerRequest {
        reports_reruns: false,
        lease: None,
        flags: vec![],
        config_file: Some(config_file),
        settings_file: dir.join("settings"),
    }
}

fn runs(dir: &Path) -> usize {
    let text = std::fs::read_to_string(dir.join("runs")).unwrap_or_default();
    text.lines().count()
}

#[test]
fn a_run_that_does_not_end_is_named_when_patience_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("lock");
    let order = busy(dir.path(), lock.to_str().unwrap());
    let program = dir.path().join("puppet-run");
    std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
    let mut other = Command::new(program)
        .args(["-c", "read line"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    std::fs::write(&lock, other.id().to_string()).unwrap();
    let result = perform(dir.path(), &order, Duration::from_millis(300));
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(
        result.error_type,
        Some(PuppetErrorType::AgentAlreadyRunning)
    );
    assert_eq!(result.cause, Some(PuppetCause::AlreadyRunning));
    let error = result.error.unwrap();
    assert!(
        error.contains(&format!("process {}", other.id())),
        "{error}"
    );
    assert!(result.waited_ms > 0);
    assert_eq!(
        WaitingFor::read(dir.path()),
        None,
        "it does not wait any more"
    );
    assert_eq!(runs(dir.path()), 1, "not started beside it");
}

#[test]
fn one_who_always_gives_way_is_not_asked_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    // No process holds this lock.
    let order = busy(dir.path(), "/nonexistent/lock");
    let result = perform(dir.path(), &order, Duration::from_millis(300));
    assert_eq!(
        result.error_type,
        Some(PuppetErrorType::AgentAlreadyRunning)
    );
    assert!((1..=5).contains(&runs(dir.path())), "{}", runs(dir.path()));
}

#[test]
fn the_node_says_how_long_it_waits() {
    let dir = tempfile::tempdir().unwrap();
    let order = busy(dir.path(), "/nonexistent/lock");
    let config = serde_json::json!({"puppet_bin": dir.path().join("puppet"), "lock_wait_s": 0});
    std::fs::write(dir.path().join("module.conf"), config.to_string()).unwrap();
    let result = perform(dir.path(), &order, Duration::from_secs(600));
    assert_eq!(result.cause, Some(PuppetCause::AlreadyRunning));
    assert!(result.error.unwrap().contains("within 0 seconds"));
    assert_eq!(runs(dir.path()), 1);
}

#[test]
fn a_report_is_never_put_over_a_newer_one() {
    let dir = tempfile::tempdir().unwrap();
    let (ours, usual) = (dir.path().join("ours"), dir.path().join("usual"));
    std::fs::write(&ours, "ours").unwrap();
    copy_if_newer(&ours, &usual).unwrap();
    assert_eq!(std::fs::read_to_string(&usual).unwrap(), "ours");
    let newer = File::create(&usual).unwrap();
    newer
        .set_modified(std::time::SystemTime::now() + Duration::from_secs(9))
        .unwrap();
    copy_if_newer(&ours, &usual).unwrap();
    assert_eq!(std::fs::read_to_string(&usual).unwrap(), "");
}

#[test]
fn a_link_at_the_usual_place_is_replaced_and_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (ours, usual, victim) = (
        dir.path().join("ours"),
        dir.path().join("usual"),
        dir.path().join("victim"),
    );
    std::fs::write(&victim, "precious").unwrap();
    std::fs::write(&ours, "ours").unwrap();
    std::os::unix::fs::symlink(&victim, &usual).unwrap();
    File::open(&ours)
        .unwrap()
        .set_modified(std::time::SystemTime::now() + Duration::from_secs(9))
        .unwrap();
    copy_if_newer(&ours, &usual).unwrap();
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(std::fs::read_to_string(&usual).unwrap(), "ours");
}
