//! `postrun` of an `r10k.yaml`: a program that runs once when a deployment is over. Main function:
//! [`run`].
//!
//! Invariant: a failure of the program does not change which version is live.

use std::process::Stdio;

use async_trait::async_trait;
use environments::EnvironmentName;
use tokio::process::Command;

use crate::defaults::{POSTRUN_BYTES, POSTRUN_TIMEOUT};
use crate::service::{DeploymentObserver, FinishedDeployment};
use program_runner::{ProgramError, to_one_line};

/// The command that a server runs after each deployment that made another version live.
#[derive(Clone, Debug)]
pub struct PostrunCommand {
    command: Vec<String>,
}

/// The program could not be run, or failed.
#[derive(Debug, thiserror::Error)]
#[error("postrun ({program}): {why}; what was deployed is live all the same")]
pub struct PostrunError {
    program: String,
    why: String,
}

/// The placeholder for the names of the environments.
const MODIFIED: &str = "$modifiedenvs";

/// Runs the command without a shell: a program and its arguments. In each, `$modifiedenvs` is
/// replaced by the names of the environments, separated by blanks.
pub async fn run(command: &[String], environments: &[EnvironmentName]) -> Result<(), PostrunError> {
    let names: Vec<&str> = environments.iter().map(EnvironmentName::as_str).collect();
    let names = names.join(" ");
    let mut words = command.iter().map(|word| word.replace(MODIFIED, &names));
    let Some(program) = words.next() else {
        return Ok(());
    };
    let failed = |why: String| PostrunError {
        program: program.clone(),
        why,
    };
    let mut running = Command::new(&program);
    running.args(words).stdin(Stdio::null());
    let ran = program_runner::run(running, POSTRUN_TIMEOUT, POSTRUN_BYTES).await;
    let ran = ran.map_err(|error| match error {
        ProgramError::Start(source) => failed(format!("it cannot be run: {source}")),
        error => failed(error.to_string()),
    })?;
    match ran.status.success() {
        true => Ok(()),
        false => Err(failed(format!(
            "{}: {}",
            ran.status,
            to_one_line(&ran.stderr)
        ))),
    }
}

// === impl PostrunCommand ===

impl PostrunCommand {
    /// Returns `None` if the command is empty.
    pub fn new(command: &[String]) -> Option<Self> {
        let command = command.to_vec();
        (!command.is_empty()).then_some(Self { command })
    }
}

#[async_trait]
impl DeploymentObserver for PostrunCommand {
    async fn deployment_finished(&self, over: &FinishedDeployment) -> Vec<String> {
        let deployment = over.deploy.deployment.as_ref();
        let is_other = deployment.is_some_and(|it| it.version != it.version_before);
        let environment = over.deploy.environment.parse();
        let (Ok(environment), true) = (environment, is_other && !over.is_dry && over.is_live())
        else {
            return Vec::new();
        };
        let ran = run(&self.command, &[environment]).await;
        ran.err()
            .map(|error| error.to_string())
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[tokio::test]
    async fn names_stand_where_they_are_meant() {
        let directory = tempfile::tempdir().unwrap();
        let told = directory.path().join("told");
        let script = format!(r#"printf '%s|' "$@" > {}"#, told.display());
        let command = words(&[
            "sh",
            "-c",
            &script,
            "it",
            "$modifiedenvs",
            "of: $modifiedenvs",
            "$x",
        ]);
        let environments = ["lab", "production"].map(|name| name.parse().unwrap());
        run(&command, &environments).await.unwrap();
        let said = std::fs::read_to_string(told).unwrap();
        assert_eq!(said, "lab production|of: lab production|$x|");
    }

    #[tokio::test]
    async fn how_it_fails_is_told() {
        let error = run(&words(&["sh", "-c", "echo no >&2; exit 3"]), &[]).await;
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("postrun (sh): exit status: 3: no;"),
            "{error}"
        );
        let error = run(&words(&["/nowhere/x"]), &[])
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("(/nowhere/x): it cannot be run: No such file"),
            "{error}"
        );
        run(&[], &[]).await.unwrap();
    }
}
