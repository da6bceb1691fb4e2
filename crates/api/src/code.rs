//! Reading the code of an environment, and what a client is told when that fails.
//!
//! The rule: code is read on a thread that may block, from one version of the environment.

use std::sync::Arc;

use api_types::{ApiError, EnvironmentCode, kinds};
use deploy::{CodeError, CodeVersion, EnvironmentName};
use serde_json::json;

use crate::Shared;
use crate::failure::Failure;
use crate::near_names::with_near_names;

/// Reads from the present version of the environment, on a thread that may block.
pub(crate) async fn read<T: Send + 'static>(
    api: &Shared,
    environment: &str,
    what: impl FnOnce(&dyn CodeVersion) -> Result<T, CodeError> + Send + 'static,
) -> Result<(EnvironmentCode, T), Failure> {
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
        .map_err(|error| Failure::internal("read the code", &error))?;
    match read {
        Ok(read) => Ok(read),
        Err(error) => Err(with_near_names(api, refusal(error)).await),
    }
}

/// What a client is told when code cannot be used.
pub(crate) fn refusal(error: CodeError) -> Failure {
    let text = error.to_string();
    match &error {
        CodeError::UnknownEnvironment { environment, path } => {
            // The one path of the server that is told: without it a mistake in `code.codedir` looks like one in the name.
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
        CodeError::Plan { path, problem } => {
            // As with environments, the path on the server's disk is not told.
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let invalid = ApiError::new(kinds::INVALID_PLAN, format!("{file}: {problem}"));
            invalid.with("file", json!(file)).into()
        }
        CodeError::Io { .. } => Failure::internal("read the code", &error),
        // The code is wrong, and who asks for it is who can put it right.
        _ => ApiError::new(kinds::UNKNOWN, text).into(),
    }
}
