//! Reads the code of an environment, and converts its errors.
//!
//! Invariant: code is read on a thread that may block, from one version of the environment.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use api_types::{ApiError, EnvironmentCode, ErrorBody, kinds};
use environments::{CodeError, CodeVersion, EnvironmentName};
use serde_json::json;

use crate::SharedApiContext;
use crate::failure::ApiFailure;
use crate::near_names::with_near_names;

/// Reads from the current version of the environment, on a thread that may block.
pub(crate) async fn read<T: Send + 'static>(
    api: &SharedApiContext,
    environment: &str,
    what: impl FnOnce(&dyn CodeVersion) -> Result<T, CodeError> + Send + 'static,
) -> Result<(EnvironmentCode, T), ApiFailure> {
    let parsed = environment.parse();
    let name: EnvironmentName = parsed.map_err(|error| ApiError::invalid("environment", error))?;
    let code = Arc::clone(&api.code);
    let reading = tokio::task::spawn_blocking(move || {
        let version = code.version(&name)?;
        let environment = EnvironmentCode {
            name: name.to_string(),
            code_id: version.code_id().map(str::to_owned),
        };
        Ok((environment, what(&*version)?))
    });
    let read = reading
        .await
        .map_err(|error| ApiFailure::internal("read the code", &error))?;
    match read {
        Ok(read) => Ok(read),
        Err(error) => Err(with_near_names(api, code_error(error)).await),
    }
}

/// The error of a task or plan in a list.
pub(crate) fn to_error_body(error: CodeError) -> ErrorBody {
    let ApiFailure(refused) = code_error(error);
    *refused.body
}

/// The response if code cannot be used.
pub(crate) fn code_error(error: CodeError) -> ApiFailure {
    let text = error.to_string();
    match &error {
        CodeError::UnknownEnvironment { environment, path } => {
            // This is the only path of the server in a response: without it a mistake in
            // `code.codedir` looks like one in the name.
            let searched = path.parent().unwrap_or(path).display();
            let msg = format!("there is no environment `{environment}` in {searched}");
            let unknown = ApiError::new(kinds::UNKNOWN_ENVIRONMENT, msg);
            unknown
                .with("environment", json!(environment.as_str()))
                .into()
        }
        CodeError::UnknownTask { task, environment } => {
            let unknown = ApiError::new(kinds::UNKNOWN_TASK, text);
            let unknown = unknown.with("task", json!(task.as_str()));
            unknown
                .with("environment", json!(environment.as_str()))
                .into()
        }
        CodeError::UnknownPlan { plan, environment } => {
            let unknown = ApiError::new(kinds::UNKNOWN_PLAN, text);
            let unknown = unknown.with("plan", json!(plan.as_str()));
            unknown
                .with("environment", json!(environment.as_str()))
                .into()
        }
        CodeError::Plan {
            path,
            problem,
            position,
        } => with_position(
            ApiError::new(kinds::INVALID_PLAN, message_in_file(path, problem)),
            path,
            *position,
        ),
        CodeError::Metadata { path, problem } => {
            let invalid = ApiError::new(kinds::INVALID_TASK, message_in_file(path, problem));
            let invalid = match problem.path() {
                Some(json_path) => invalid.with("path", json!(json_path)),
                None => invalid,
            };
            with_position(invalid, path, problem.position())
        }
        CodeError::Ambiguous { task, .. }
        | CodeError::NoExecutable { task, .. }
        | CodeError::FileEntry { task, .. } => {
            let invalid = ApiError::new(kinds::INVALID_TASK, text);
            invalid.with("task", json!(task.as_str())).into()
        }
        CodeError::EnvironmentConf {
            path,
            line,
            problem,
        } => {
            let what = format!("line {line}: {problem}");
            let invalid = ApiError::new(kinds::INVALID_ENVIRONMENT, message_in_file(path, &what));
            with_position(invalid.with("line", json!(line)), path, None)
        }
        CodeError::Refused { path, problem } => {
            let invalid = ApiError::new(kinds::INVALID_ENVIRONMENT, message_in_file(path, problem));
            with_position(invalid, path, None)
        }
        CodeError::Changing { path } => {
            let msg = format!(
                "{} is being changed while it is read; try again",
                display_path(path)
            );
            ApiError::new(kinds::UNAVAILABLE, msg).into()
        }
        CodeError::InvalidPath { .. } | CodeError::TooManyFiles { .. } => {
            ApiError::invalid("path", text).into()
        }
        CodeError::UnknownVersion { .. } => ApiError::new(kinds::UNKNOWN_VERSION, text).into(),
        CodeError::UnknownFile { .. } | CodeError::UnknownMountedFile => {
            ApiError::new(kinds::NOT_FOUND, text).into()
        }
        CodeError::Io { path, source } if source.kind() == ErrorKind::PermissionDenied => {
            let problem = "the server may not read it; let the server's user read the code";
            let invalid =
                ApiError::new(kinds::INVALID_ENVIRONMENT, message_in_file(path, &problem));
            with_position(invalid, path, None)
        }
        CodeError::Io { .. } => ApiFailure::internal("read the code", &error),
    }
}

/// A message that starts with the file; the path on the server's disk is not revealed.
fn message_in_file(path: &Path, problem: &dyn Display) -> String {
    format!("{}: {problem}", display_path(path))
}

/// Adds the file, and the line and column counted from 1.
fn with_position(error: ApiError, path: &Path, position: Option<(usize, usize)>) -> ApiFailure {
    let error = error.with("file", json!(display_path(path)));
    match position {
        Some((line, column)) => error
            .with("line", json!(line))
            .with("column", json!(column))
            .into(),
        None => error.into(),
    }
}

/// Directories of a module whose files are named in messages.
const OF_MODULES: [&str; 2] = ["tasks", "plans"];

/// The path of a file relative to its module, or its name.
fn display_path(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let of_module = parts
        .iter()
        .rposition(|part| OF_MODULES.contains(&&**part))
        .and_then(|at| at.checked_sub(1));
    let from = of_module.unwrap_or(parts.len().saturating_sub(1));
    parts[from..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_its_module_on_and_never_by_its_path_on_the_disk() {
        for (path, expected) in [
            (
                "/etc/code/environments/tasks/modules/m/tasks/init.json",
                "m/tasks/init.json",
            ),
            (
                "/etc/code/environments/x/modules/m/plans/deep/a.pp",
                "m/plans/deep/a.pp",
            ),
            (
                "/etc/code/environments/x/environment.conf",
                "environment.conf",
            ),
            ("/", "/"),
        ] {
            assert_eq!(display_path(Path::new(path)), expected);
        }
    }
}
