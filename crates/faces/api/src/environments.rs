//! `GET environments` and what is below it.

use std::sync::Arc;

use api_types::environments::{ApplicationList, Environment, EnvironmentList, InstanceList};
use axum::Json;
use axum::extract::State;
use environments::CodeError;

use crate::Shared;
use crate::base::Base;
use crate::code;
use crate::failure::Failure;
use crate::given::{Given, Variables};

pub(crate) async fn list(
    State(api): State<Shared>,
    base: Base,
    Given(given): Given,
) -> Result<Json<EnvironmentList>, Failure> {
    given.finish()?;
    let code = Arc::clone(&api.code);
    let reading = tokio::task::spawn_blocking(move || {
        let mut found = Vec::new();
        for name in code.environments()? {
            match code.version(&name) {
                Ok(version) => found.push((name.to_string(), version.code_id().map(str::to_owned))),
                // It was removed meanwhile.
                Err(CodeError::UnknownEnvironment { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    });
    let read = reading
        .await
        .map_err(|error| Failure::internal("read the code", &error))?;
    let mut found = read.map_err(code::refusal)?;
    found.sort();
    let items = found.into_iter();
    let items = items.map(|(name, code_id)| environment(&base, name, code_id));
    Ok(Json(EnvironmentList {
        items: items.collect(),
    }))
}

pub(crate) async fn show(
    State(api): State<Shared>,
    base: Base,
    Variables(name): Variables<String>,
    Given(given): Given,
) -> Result<Json<Environment>, Failure> {
    given.finish()?;
    let (found, ()) = code::read(&api, &name, |_| Ok(())).await?;
    Ok(Json(environment(&base, found.name, found.code_id)))
}

/// There is no application orchestration: every environment has none.
pub(crate) async fn applications(
    State(api): State<Shared>,
    base: Base,
    Variables(name): Variables<String>,
    Given(given): Given,
) -> Result<Json<ApplicationList>, Failure> {
    given.finish()?;
    let (found, ()) = code::read(&api, &name, |_| Ok(())).await?;
    let instances = base.link(&format!("environments/{}/instances", found.name));
    let items = Vec::new();
    Ok(Json(ApplicationList { items, instances }))
}

pub(crate) async fn instances(
    State(api): State<Shared>,
    Variables(name): Variables<String>,
    Given(given): Given,
) -> Result<Json<InstanceList>, Failure> {
    given.finish()?;
    code::read(&api, &name, |_| Ok(())).await?;
    Ok(Json(InstanceList { items: Vec::new() }))
}

fn environment(base: &Base, name: String, code_id: Option<String>) -> Environment {
    let below = |path: &str| format!("environments/{name}{path}");
    Environment {
        id: base.at(&below("")),
        applications: base.link(&below("/applications")),
        instances: base.link(&below("/instances")),
        name,
        code_id,
    }
}
