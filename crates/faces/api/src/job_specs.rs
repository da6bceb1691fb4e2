//! The common part of the commands that create jobs: from their texts to a [`JobSpec`], and the errors of
//! jobs that are refused.

use api_types::{ApiError, kinds};
use environments::{EnvironmentName, EnvironmentNameError, ParamProblem};
use jobs::{JobLimits, JobSpec, JobWork, NodeScope, RunJobError};
use serde_json::Value;
use store::JobNumber;

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::code;
use crate::failure::ApiFailure;
use crate::near_names::with_near_names;
use crate::plans;
use crate::refusals::{cycle_refusal, resolve_refusal, scope_refusal, submit_refusal};

/// A job of this caller, without texts.
pub(crate) fn caller_job(
    caller: &ApiCaller,
    work: JobWork,
    scope: NodeScope,
    limits: JobLimits,
) -> JobSpec {
    JobSpec {
        limits,
        owner: caller.0.login.clone(),
        owner_id: caller.0.user_id.clone(),
        ..JobSpec::new(work, scope)
    }
}

/// Parses the name of the environment whose code is run.
pub(crate) fn environment_name(text: &str) -> Result<EnvironmentName, ApiError> {
    text.parse()
        .map_err(|error| invalid_environment_name(text, &error))
}

/// The refusal of a text that is not the name of an environment.
pub(crate) fn invalid_environment_name(text: &str, error: &EnvironmentNameError) -> ApiError {
    let what = format!("`{text}` is not an environment's name: {error}");
    ApiError::invalid("environment", what)
}

/// Creates the job.
pub(crate) async fn create_job(
    api: &SharedApiContext,
    spec: JobSpec,
) -> Result<JobNumber, ApiFailure> {
    match Box::pin(api.jobs.run(spec)).await {
        Ok(number) => Ok(number),
        Err(error) => Err(with_near_names(api, run_job_error(error)).await),
    }
}

pub(crate) fn run_job_error(error: RunJobError) -> ApiFailure {
    let text = error.to_string();
    let refused = match error {
        RunJobError::Code(error) => return code::code_error(error),
        RunJobError::Scope(error) => return scope_refusal(error),
        RunJobError::Cycle(cycle) => return cycle_refusal(&cycle),
        RunJobError::Classify(error) => return resolve_refusal("enforce_environment", &error),
        RunJobError::Parameters { problems, .. } => {
            ApiError::invalid("params", text).with("params", problems_json(&problems))
        }
        RunJobError::NoopUnsupported(_) => ApiError::invalid("noop", text),
        RunJobError::RunAs { .. } => ApiError::invalid("run_as", text),
        RunJobError::Flag(flag) => ApiError::invalid(flag.option, flag.problem),
        RunJobError::Limit(_) => ApiError::new(kinds::VALIDATION, text),
        RunJobError::Plan(error) => return plans::plan_job_error(error),
        RunJobError::Submit(error) => return submit_refusal(&error),
        _ => return ApiFailure::internal("run the task", &error),
    };
    ApiFailure(refused)
}

fn problems_json(problems: &[ParamProblem]) -> Value {
    problems
        .iter()
        .map(|problem| Value::String(problem.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_an_environment_name_is_quoted_with_the_rule() {
        for text in ["../x", "", "a b"] {
            let ApiFailure(refused) = environment_name(text).unwrap_err().into();
            let expected = format!(
                "environment: `{text}` is not an environment's name: an environment's name has 1 to"
            );
            assert!(
                refused.body.msg.starts_with(&expected),
                "{}",
                refused.body.msg
            );
        }
    }
}
