//! Output of programs of this machine: [`run_for_output`].

use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::defaults::PROGRAM_OUTPUT_BYTES;

/// Standard output of a program that succeeds; otherwise the cause. A program that hangs is bounded
/// only by the deadline of the check.
pub fn run_for_output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let spawned = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = spawned.map_err(|error| format!("{program} cannot be started: {error}"))?;
    let mut text = String::new();
    let read = match child.stdout.take() {
        Some(stdout) => stdout.take(PROGRAM_OUTPUT_BYTES).read_to_string(&mut text),
        None => Ok(0),
    };
    let status = child
        .wait()
        .map_err(|error| format!("{program}: {error}"))?;
    match (status.success(), read) {
        (true, Ok(_)) => Ok(text),
        (true, Err(error)) => Err(format!("{program} printed no text: {error}")),
        (false, _) => Err(format!("{program} ended with {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_failure_and_absence_are_told_apart() {
        assert_eq!(run_for_output("printf", &["%s", "a"]).unwrap(), "a");
        assert!(
            run_for_output("false", &[])
                .unwrap_err()
                .contains("exit status: 1")
        );
        let absent = run_for_output("/nonexistent/program", &[]).unwrap_err();
        assert!(absent.contains("cannot be started"), "{absent}");
    }
}
