//! Environments and classes, as far as the code says them.
//!
//! Environments are those of the code directory. Classes need the Puppet language, which this server
//! does not read yet: the lists are empty, and groups may name any class.

use std::sync::Arc;

use api_types::PreciseTimestamp;
use api_types::classifier::{
    ClassifierClasses, ClassifierEnvironment, ClassifierEnvironments, LastClassUpdate,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::refusal::not_found;
use crate::Shared;
use crate::failure::Failure;
use crate::given::{Given, Variables};
use crate::tasks::code_refusal;

pub(crate) async fn environments(
    State(api): State<Shared>,
) -> Result<Json<ClassifierEnvironments>, Failure> {
    let names = names(&api).await?;
    let all = names.into_iter().map(environment_named);
    Ok(Json(ClassifierEnvironments(all.collect())))
}

pub(crate) async fn environment(
    State(api): State<Shared>,
    Variables(name): Variables<String>,
) -> Result<Json<ClassifierEnvironment>, Failure> {
    known(&api, &name).await?;
    Ok(Json(environment_named(name)))
}

pub(crate) async fn classes() -> Json<ClassifierClasses> {
    Json(ClassifierClasses(Vec::new()))
}

pub(crate) async fn classes_of(
    State(api): State<Shared>,
    Variables(name): Variables<String>,
) -> Result<Json<ClassifierClasses>, Failure> {
    known(&api, &name).await?;
    Ok(Json(ClassifierClasses(Vec::new())))
}

/// Environments are read each time they are asked for, so there is nothing to read again.
pub(crate) async fn update(
    State(api): State<Shared>,
    Given(mut given): Given,
) -> Result<StatusCode, Failure> {
    let environment = given.text("environment");
    given.finish()?;
    match environment {
        Some(name) => known(&api, &name).await?,
        None => drop(names(&api).await?),
    }
    Ok(StatusCode::CREATED)
}

pub(crate) async fn last_update() -> Json<LastClassUpdate> {
    let never: Option<PreciseTimestamp> = None;
    Json(LastClassUpdate { last_update: never })
}

async fn known(api: &Shared, name: &str) -> Result<(), Failure> {
    let names = names(api).await?;
    match names.iter().any(|known| known == name) {
        true => Ok(()),
        false => Err(not_found("environment", name)),
    }
}

async fn names(api: &Shared) -> Result<Vec<String>, Failure> {
    let code = Arc::clone(&api.code);
    let read = tokio::task::spawn_blocking(move || code.environments()).await;
    let read = read.map_err(|error| Failure::internal("read the code", &error))?;
    let names = read.map_err(code_refusal)?;
    Ok(names.iter().map(ToString::to_string).collect())
}

fn environment_named(name: String) -> ClassifierEnvironment {
    ClassifierEnvironment {
        name,
        sync_succeeded: true,
    }
}
