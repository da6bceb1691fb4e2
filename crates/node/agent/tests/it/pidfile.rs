//! PID files: one agent per file. A process's own locks never conflict with each other, so the
//! second holder is another program.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use agent::pidfile::{PidFile, PidFileError};

#[test]
fn the_file_says_who_runs_and_goes_with_its_holder() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("run/agent.pid");
    let held = PidFile::lock(&path).expect("a free lock");
    assert_eq!(held.path(), path);
    let text = std::fs::read_to_string(&path).expect("the file");
    assert_eq!(text, format!("{}\n", std::process::id()));
    let mode = std::fs::metadata(&path)
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o137, 0, "{mode:o}");
    drop(held);
    assert!(!path.exists());
}

#[test]
fn what_a_crash_left_is_taken_over() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("agent.pid");
    for left in ["", "1\n", "garbage", &"9".repeat(10_000)] {
        std::fs::write(&path, left).expect("a file in the test's directory");
        let held = PidFile::lock(&path).expect("nobody holds it");
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(text, format!("{}\n", std::process::id()));
        drop(held);
    }
}

#[test]
fn a_second_agent_is_refused_and_told_who_runs() {
    const HOLD: &str = "import fcntl,sys
f = open(sys.argv[1], 'w')
fcntl.lockf(f, fcntl.LOCK_EX)
f.write('4711\\n'); f.flush()
print('held', flush=True)
sys.stdin.read()";
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("agent.pid");
    let mut holder = Command::new("python3")
        .args(["-c", HOLD])
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3, which the tests need");
    let mut said = [0; 5];
    let stdout = holder.stdout.as_mut().expect("a pipe");
    std::io::Read::read_exact(stdout, &mut said).expect("the holder's word");

    let error = PidFile::lock(&path).expect_err("somebody holds it");
    assert!(
        matches!(&error, PidFileError::AlreadyRunning { pid, .. } if pid == "4711"),
        "{error}"
    );
    drop(holder.stdin.take());
    holder.wait().expect("the holder ends");
    PidFile::lock(&path).expect("nobody holds it any more");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("a file in the test's directory");
    let error = PidFile::lock(&file.join("agent.pid")).expect_err("not a directory");
    assert!(error.to_string().contains("--pidfile"), "{error}");
}
