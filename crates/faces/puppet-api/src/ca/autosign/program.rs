//! Policy executables: programs that decide if a request is signed, called in the same way as by
//! puppetserver. Main function: [`is_accepted`].
//!
//! Invariant: the certname is the only argument, the request is on standard input, and only exit
//! code 0 signs; a program that takes too long is killed with all its children.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use pcp::Certname;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::defaults::{AUTOSIGN_OUTPUT_BYTES, AUTOSIGN_PROGRAM_TIME};

/// Reason for which the program could not decide.
#[derive(Debug, thiserror::Error)]
enum PolicyProgramError {
    #[error("it cannot be run: {0}")]
    Start(#[source] std::io::Error),
    #[error("it did not end within {} s and was killed", .0.as_secs())]
    TooSlow(Duration),
    #[error("its end cannot be awaited: {0}")]
    Wait(#[source] std::io::Error),
}

/// Kills the program's process group unless it ended by itself.
struct ProcessGroup(Option<Pid>);

/// True if the program exits with code 0.
pub(in crate::ca) async fn is_accepted(
    program: &Path,
    certname: &Certname,
    request_pem: &str,
) -> bool {
    match run(program, certname, request_pem, AUTOSIGN_PROGRAM_TIME).await {
        Ok(status) => {
            let program = program.display();
            tracing::info!(%program, certname = certname.as_str(), %status, "the autosign policy decided");
            status.success()
        }
        Err(error) => {
            let program = program.display();
            tracing::warn!(
                %program, certname = certname.as_str(), %error,
                "not signed automatically: the program of ca.autosign did not decide"
            );
            false
        }
    }
}

async fn run(
    program: &Path,
    certname: &Certname,
    request_pem: &str,
    time: Duration,
) -> Result<ExitStatus, PolicyProgramError> {
    let mut child = Command::new(program)
        .arg(certname.as_str())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(PolicyProgramError::Start)?;
    let mut group = ProcessGroup(child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)));
    let ended = tokio::time::timeout(time, feed_and_wait(&mut child, request_pem)).await;
    match ended {
        Ok(Ok(status)) => {
            group.0 = None;
            Ok(status)
        }
        Ok(Err(error)) => Err(PolicyProgramError::Wait(error)),
        Err(_) => Err(PolicyProgramError::TooSlow(time)),
    }
}

/// Writes the request to the program and waits for its end. Its output goes to the log; output
/// beyond the limit is discarded.
async fn feed_and_wait(child: &mut Child, request_pem: &str) -> std::io::Result<ExitStatus> {
    let stdin = child.stdin.take();
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A program that decides by the name alone does not read its input, which is not an
            // error.
            let _ = stdin.write_all(request_pem.as_bytes()).await;
        }
    };
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (status, (), (), ()) =
        tokio::join!(child.wait(), feed, log_output(stdout), log_output(stderr));
    status
}

async fn log_output(output: Option<impl tokio::io::AsyncRead + Unpin>) {
    let Some(mut output) = output else { return };
    let mut kept = Vec::new();
    let mut reader = (&mut output).take(AUTOSIGN_OUTPUT_BYTES);
    // Output that cannot be read is not logged; the exit code decides.
    let _ = reader.read_to_end(&mut kept).await;
    let text = String::from_utf8_lossy(&kept);
    if !text.trim().is_empty() {
        tracing::info!(output = text.trim(), "the autosign policy printed");
    }
    let _ = tokio::io::copy(&mut output, &mut tokio::io::sink()).await;
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // It may have just ended.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn program(dir: &Path, script: &str) -> PathBuf {
        let path = dir.join("policy");
        let text = dir.join("policy.text");
        std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        // Another process writes the program: a child that another test forks at this moment would
        // keep it open for writing, and it could not be executed.
        let mut install = std::process::Command::new("install");
        install.args(["-m", "755"]).arg(&text).arg(&path);
        assert!(install.status().unwrap().success());
        path
    }

    fn web1() -> Certname {
        "web1.example.com".parse().unwrap()
    }

    #[tokio::test]
    async fn a_program_gets_the_name_and_the_request_and_only_0_signs() {
        let dir = tempfile::tempdir().unwrap();
        let seen = dir.path().join("seen");
        let script = format!("echo \"$# $1\" > {0}; cat >> {0}", seen.display());
        assert!(is_accepted(&program(dir.path(), &script), &web1(), "a request\n").await);
        let seen = std::fs::read_to_string(seen).unwrap();
        assert_eq!(seen, "1 web1.example.com\na request\n");
        for script in [
            "exit 1",
            "exit 2",
            "kill -9 $$",
            "head -c 1000000 /dev/zero; exit 3",
        ] {
            assert!(
                !is_accepted(&program(dir.path(), script), &web1(), "x").await,
                "{script}"
            );
        }
        assert!(!is_accepted(&dir.path().join("missing"), &web1(), "x").await);
        // A program that does not read, and prints more than is kept.
        let talks = program(dir.path(), "exec 0<&-; head -c 1000000 /dev/zero");
        assert!(is_accepted(&talks, &web1(), &"x".repeat(1 << 20)).await);
    }

    #[tokio::test]
    async fn a_program_that_takes_too_long_ends_with_all_that_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let script = format!(
            "sleep 1000 & echo $! > {}.new; mv {0}.new {0}; wait",
            pid.display()
        );
        let slow = program(dir.path(), &script);
        let mut time = Duration::from_millis(100);
        // Until it was fast enough to start its child.
        let child: u32 = loop {
            let ended = run(&slow, &web1(), "x", time).await;
            assert!(
                matches!(ended, Err(PolicyProgramError::TooSlow(_))),
                "{ended:?}"
            );
            if let Ok(text) = std::fs::read_to_string(&pid) {
                break text.trim().parse().unwrap();
            }
            time *= 2;
        };
        let stat = PathBuf::from(format!("/proc/{child}/stat"));
        let lives = || std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z "));
        while lives() {
            tokio::task::yield_now().await;
        }
    }
}
