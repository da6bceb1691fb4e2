//! `puppet generate types` in a version before it is live. Main function: [`generate`].
//!
//! Puppet then loads resource types of each environment from its own texts, so that two
//! environments with different versions of a type do not disturb each other. Invariant: if it fails
//! or times out, the version is not created.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use environments::EnvironmentName;
use tokio::process::Command;

use crate::defaults::{TYPES_BYTES, TYPES_TIMEOUT};
use code_settings::GenerateTypes;
use program_runner::{ProgramError, to_one_line};

/// Reason that the types could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum TypesError {
    /// Puppet could not be run, timed out or failed.
    #[error("{} generate types: {why}", puppet.display())]
    Run {
        /// Path of the Puppet program.
        puppet: PathBuf,
        /// Description of the failure.
        why: String,
    },
    /// The directory in which Puppet finds the version could not be prepared.
    #[error("cannot make {}", path.display())]
    Place {
        /// Path of that directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: std::io::Error,
    },
}

/// Generates the types of the version in `root`; files beside `root` belong to this function.
pub(crate) async fn generate(
    settings: &GenerateTypes,
    environment: &EnvironmentName,
    root: &Path,
) -> Result<(), TypesError> {
    let beside = root.parent().unwrap_or(root);
    let path = beside.join("environments");
    let place = |source| TypesError::Place {
        path: path.clone(),
        source,
    };
    // Puppet finds the version by the environment's name.
    std::fs::create_dir(&path).map_err(place)?;
    std::os::unix::fs::symlink(root, path.join(environment.as_str())).map_err(place)?;
    let mut command = Command::new(&settings.puppet);
    command
        .args(["generate", "types", "--environment"])
        .arg(environment.as_str())
        .arg("--environmentpath")
        .arg(&path)
        .arg("--config")
        .arg(&settings.conf)
        .stdin(Stdio::null());
    let failed = |why: String| TypesError::Run {
        puppet: settings.puppet.clone(),
        why,
    };
    let ran = program_runner::run(command, TYPES_TIMEOUT, TYPES_BYTES).await;
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
