//! `GET environments` and the routes below it.

use std::sync::Arc;

use api_types::environments::{ApplicationList, Environment, EnvironmentList, InstanceList};
use axum::Json;
use axum::extract::State;
use environments::CodeError;

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::code;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    QueryParameters(given): QueryParameters,
) -> Result<Json<EnvironmentList>, ApiFailure> {
    given.finish()?;
    let code = Arc::clone(&api.code);
    let reading = tokio::task::spawn_blocking(move || {
        let mut found = Vec::new();
        for name in code.environments()? {
            match code.version(&name) {
                Ok(version) => found.push((name.to_string(), version.code_id().map(str::to_owned))),
                // The environment was removed in the meantime.
                Err(CodeError::UnknownEnvironment { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    });
    let read = reading
        .await
        .map_err(|error| ApiFailure::internal("read the code", &error))?;
    let mut found = read.map_err(code::code_error)?;
    found.sort();
    let items = found.into_iter();
    let items = items.map(|(name, code_id)| environment(&base, name, code_id));
    Ok(Json(EnvironmentList {
        items: items.collect(),
    }))
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(name): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<Environment>, ApiFailure> {
    given.finish()?;
    let (found, ()) = code::read(&api, &name, |_| Ok(())).await?;
    Ok(Json(environment(&base, found.name, found.code_id)))
}

/// Application orchestration is not supported: every environment has no applications.
pub(crate) async fn applications(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(name): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<ApplicationList>, ApiFailure> {
    given.finish()?;
    let (found, ()) = code::read(&api, &name, |_| Ok(())).await?;
    let instances = base.link(&format!("environments/{}/instances", found.name));
    let items = Vec::new();
    Ok(Json(ApplicationList { items, instances }))
}

pub(crate) async fn instances(
    State(api): State<SharedApiContext>,
    PathVariables(name): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<InstanceList>, ApiFailure> {
    given.finish()?;
    code::read(&api, &name, |_| Ok(())).await?;
    Ok(Json(InstanceList { items: Vec::new() }))
}

fn environment(base: &BaseUrl, name: String, code_id: Option<String>) -> Environment {
    let below = |path: &str| format!("environments/{name}{path}");
    Environment {
        id: base.orchestrator_url(&below("")),
        applications: base.link(&below("/applications")),
        instances: base.link(&below("/instances")),
        name,
        code_id,
    }
}
