//! Execution of a program that prints a list: [`run`].
//!
//! Invariant: the output is used only if the program exits with success.

use std::process::Stdio;

use tokio::process::Command;

use super::definition::{DefinitionDocument, DefinitionListError};
use crate::defaults::{SOURCE_BYTES, SOURCE_TIMEOUT};
use program_runner::to_one_line;

/// Runs the program, without a shell and without arguments, as r10k does.
pub(crate) async fn run(
    command: &str,
    source: &str,
) -> Result<DefinitionDocument, DefinitionListError> {
    let place = format!("what {command} printed for the source {source}");
    let failed = |why: String| DefinitionListError::Document {
        place: format!("the command {command} of the source {source}"),
        why: format!("does not say which environments there are: {why}"),
    };
    let mut program = Command::new(command);
    program.stdin(Stdio::null());
    let ran = program_runner::run(program, SOURCE_TIMEOUT, SOURCE_BYTES).await;
    let ran = ran.map_err(|error| failed(error.to_string()))?;
    match ran.status.success() {
        true => DefinitionDocument::new(place, ran.stdout),
        false => Err(failed(format!(
            "{}: {}",
            ran.status,
            to_one_line(&ran.stderr)
        ))),
    }
}
