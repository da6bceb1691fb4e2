//! Plans and plan jobs.
//!
//! This server shows the plans of an environment, runs them, and stores the record of plans that
//! Bolt runs.

pub(crate) mod commands;
pub(crate) mod events;
pub(crate) mod jobs;
mod params;
pub(crate) mod run;
pub(crate) mod running;
pub(crate) mod steps;

use ::jobs::{PlanJobError, REDACTED};
use api_types::plans::{PlanDetail, PlanFunctionReplaced, PlanList, PlanListItem, check_plan_name};
use api_types::tasks::TasksQuery;
use api_types::{ApiError, Object, kinds};
use axum::Json;
use axum::extract::State;
use environments::{PlanMetadata, PlanName, PlanParameter};
use serde_json::{Value, json};

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::caller::ApiCaller;
use crate::code;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

/// Lists plans without private ones, which only other plans run; they can be shown.
pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    QueryParameters(given): QueryParameters,
) -> Result<Json<PlanList>, ApiFailure> {
    let query = TasksQuery::read(given)?;
    let (environment, plans) = code::read(&api, &query.environment, |code| code.plans()).await?;
    let public = plans.into_iter().filter(|plan| !plan.private);
    let items = public.map(|plan| PlanListItem {
        id: address(&base, &plan.name),
        permitted: may_run(&api, &caller, &plan.name, &environment.name),
        name: plan.name.to_string(),
        description: plan.description,
        error: plan.problem.map(code::to_error_body),
    });
    let items = items.collect();
    Ok(Json(PlanList { environment, items }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    caller: ApiCaller,
    PathVariables((module, plan)): PathVariables<(String, String)>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<PlanDetail>, ApiFailure> {
    let query = TasksQuery::read(given)?;
    let name = plan_name("plan", &format!("{module}::{plan}"))?;
    let asked = name.clone();
    let (environment, (plan, replaced)) = code::read(&api, &query.environment, move |code| {
        Ok((code.plan(&asked)?, environments::replaced_functions(code)?))
    })
    .await?;
    let replaced = replaced.into_iter().map(|function| PlanFunctionReplaced {
        name: function.name,
        module: function.module,
        file: function.path,
    });
    Ok(Json(PlanDetail {
        id: address(&base, &name),
        permitted: may_run(&api, &caller, &name, &environment.name),
        name: name.to_string(),
        environment,
        metadata: metadata(&plan.metadata),
        replaced_functions: replaced.collect(),
    }))
}

/// Parses the name of a plan at `place`.
pub(crate) fn plan_name(place: &str, text: &str) -> Result<PlanName, ApiError> {
    check_plan_name(place, text)?;
    let parsed = text.parse();
    parsed.map_err(|error| ApiError::invalid(place, error))
}

fn may_run(api: &SharedApiContext, caller: &ApiCaller, name: &PlanName, environment: &str) -> bool {
    let access = &api.access;
    access
        .authorize_plan(&caller.0, name.as_str(), environment)
        .is_ok()
}

/// Refuses a caller who may not run the plan in this environment. Permissions on nodes are checked
/// when the plan creates jobs.
pub(crate) fn demand(
    api: &SharedApiContext,
    caller: &ApiCaller,
    plan: &str,
    environment: &str,
) -> Result<(), ApiFailure> {
    api.access.authorize_plan(&caller.0, plan, environment)?;
    Ok(())
}

fn address(base: &BaseUrl, name: &PlanName) -> String {
    base.orchestrator_url(&format!("plans/{}/{}", name.module(), name.plan()))
}

/// Metadata in the form of Puppet Enterprise, with marks for a private plan and sensitive
/// parameters.
fn metadata(plan: &PlanMetadata) -> Object {
    let parameters = plan.parameters.iter();
    let parameters: Object = parameters
        .map(|one| (one.name.clone(), Value::Object(parameter(one))))
        .collect();
    let mut shown = Object::new();
    if let Some(description) = &plan.description {
        shown.insert("description".to_owned(), json!(description));
    }
    if plan.private {
        shown.insert("private".to_owned(), json!(true));
    }
    shown.insert("parameters".to_owned(), Value::Object(parameters));
    shown
}

fn parameter(parameter: &PlanParameter) -> Object {
    let mut shown = Object::new();
    shown.insert("type".to_owned(), json!(parameter.kind));
    if let Some(default) = &parameter.default {
        // A default is shown as present, without its value: the parameter is optional.
        let default = match parameter.sensitive {
            true => json!(REDACTED),
            false => default.clone(),
        };
        shown.insert("default_value".to_owned(), default);
    }
    if let Some(description) = &parameter.description {
        shown.insert("description".to_owned(), json!(description));
    }
    if parameter.sensitive {
        shown.insert("sensitive".to_owned(), json!(true));
    }
    shown
}

/// The error for a plan job that was not changed.
pub(crate) fn plan_job_error(error: PlanJobError) -> ApiFailure {
    let text = error.to_string();
    let (kind, number) = match error {
        PlanJobError::Unknown(number) => (kinds::UNKNOWN_JOB, number),
        PlanJobError::Finished { number, .. } => (kinds::PLAN_FINISHED, number),
        PlanJobError::NotOwner { number, .. } => (kinds::NOT_PERMITTED, number),
        PlanJobError::Store(error) => {
            return ApiFailure::internal("write the plan job down", &error);
        }
        error => return ApiFailure::internal("write the plan job down", &error),
    };
    let refused = ApiError::new(kind, text);
    ApiFailure(refused.with("plan_job", json!(number.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_of_a_secret_is_not_shown() {
        let shown = |sensitive| {
            parameter(&PlanParameter {
                name: "password".to_owned(),
                kind: "Any".to_owned(),
                default: Some(json!("Sensitive('abc')")),
                description: None,
                sensitive,
            })
        };
        assert_eq!(shown(true)["default_value"], REDACTED);
        assert_eq!(shown(false)["default_value"], "Sensitive('abc')");
    }
}
