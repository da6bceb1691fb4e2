//! `filter_command`: a program that decides which branches of a source are environments. Main
//! function: [`is_branch_kept`].
//!
//! As in r10k, it receives the branch in `R10K_BRANCH`, the source in `R10K_NAME` and the local
//! copy of the repository in `GIT_DIR`; exit code 0 keeps the branch. Invariant: a program that
//! does not run decides about no branch, so the source counts as unreachable.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::defaults::{FILTER_BYTES, FILTER_TIMEOUT};
use program_runner::to_one_line;

/// The error for a program that did not decide about a branch.
#[derive(Debug, thiserror::Error)]
#[error("the filter_command does not say whether the branch {branch} is an environment: {why}")]
pub struct FilterError {
    branch: String,
    why: String,
}

/// Exit codes of a shell that cannot run a program.
const CANNOT_RUN: &[i32] = &[126, 127];

/// Runs the program and returns true if a branch is an environment.
pub(crate) async fn is_branch_kept(
    command: &str,
    source: &str,
    branch: &str,
    repository: &Path,
) -> Result<bool, FilterError> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .env("GIT_DIR", repository)
        .env("R10K_BRANCH", branch)
        .env("R10K_NAME", source)
        .stdin(Stdio::null());
    let failed = |why: String| FilterError {
        branch: branch.to_owned(),
        why,
    };
    let ran = program_runner::run(shell, FILTER_TIMEOUT, FILTER_BYTES).await;
    let ran = ran.map_err(|error| failed(error.to_string()))?;
    match ran.status.code() {
        Some(code) if !CANNOT_RUN.contains(&code) => Ok(code == 0),
        _ => Err(failed(format!(
            "{}: {}",
            ran.status,
            to_one_line(&ran.stderr)
        ))),
    }
}
