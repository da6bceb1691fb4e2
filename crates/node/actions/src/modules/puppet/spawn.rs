//! The two ways of starting `puppet`: [`run`] for `puppet agent`, whose output is the action's, and
//! [`run_puppet_query`] for a query with a short answer.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::defaults::{PUPPET_ANSWER_BYTES, PUPPET_ANSWER_TIMEOUT};

/// Interval between two checks of a query.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Runs `puppet agent` to its end. A stop of the action ends it with the rest of the process tree.
pub(super) fn run(
    puppet: &Path,
    args: &[String],
    variables: &[(String, String)],
) -> io::Result<ExitStatus> {
    command(puppet, variables).args(args).spawn()?.wait()
}

/// Runs `puppet` and returns the text that it prints.
pub(super) fn run_puppet_query(
    puppet: &Path,
    args: &[&str],
    variables: &[(String, String)],
) -> Result<String, String> {
    let failed = |what: String| format!("`puppet {}` failed: {what}", args.join(" "));
    let mut child = command(puppet, variables)
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let stdout = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(stdout) = stdout {
            // Output that is not text is not an answer; this is detected below.
            let _ = stdout.take(PUPPET_ANSWER_BYTES).read_to_string(&mut text);
        }
        text
    });
    let deadline = Instant::now() + PUPPET_ANSWER_TIMEOUT;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(LOOK_INTERVAL),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed(format!(
                    "no answer within {PUPPET_ANSWER_TIMEOUT:?}"
                )));
            }
            Err(error) => return Err(failed(error.to_string())),
        }
    };
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    reader
        .join()
        .map_err(|_| failed("it was not read".to_owned()))
}

fn command(puppet: &Path, variables: &[(String, String)]) -> Command {
    let mut command = Command::new(puppet);
    command
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(Stdio::null());
    command
}
