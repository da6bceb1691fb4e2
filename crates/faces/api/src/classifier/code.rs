//! Environments and classes.
//!
//! Environments are those of the code directory, of the puppetserver that provides classes, and
//! those announced through the API. Invariant: the lists are for information only, groups may use
//! any environment and class. Without such a puppetserver no classes are known, and their lists are
//! empty.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::classifier::{
    ClassifierClass, ClassifierClasses, ClassifierEnvironment, ClassifierEnvironments,
    LastClassUpdate,
};
use api_types::{ApiError, PreciseTimestamp, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use classifier::{AnnounceError, ClassSourceError, PuppetClass};
use serde_json::json;

use super::refusal::not_found;
use crate::SharedApiContext;
use crate::code;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

pub(crate) async fn environments(
    State(api): State<SharedApiContext>,
) -> Result<Json<ClassifierEnvironments>, ApiFailure> {
    let all = all(&api).await?.into_iter();
    Ok(Json(ClassifierEnvironments(
        all.map(environment_reply).collect(),
    )))
}

pub(crate) async fn environment(
    State(api): State<SharedApiContext>,
    PathVariables(name): PathVariables<String>,
) -> Result<Json<ClassifierEnvironment>, ApiFailure> {
    Ok(Json(find_environment(&api, &name).await?))
}

pub(crate) async fn announce_environment(
    State(api): State<SharedApiContext>,
    PathVariables(name): PathVariables<String>,
) -> Result<(StatusCode, Json<ClassifierEnvironment>), ApiFailure> {
    api.classifier
        .announce_environment(&name)
        .await
        .map_err(class_error)?;
    Ok((
        StatusCode::CREATED,
        Json(find_environment(&api, &name).await?),
    ))
}

pub(crate) async fn forget_environment(
    State(api): State<SharedApiContext>,
    PathVariables(name): PathVariables<String>,
) -> Result<StatusCode, ApiFailure> {
    match api.classifier.withdraw_environment(&name).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(not_found("announced environment", &name)),
    }
}

pub(crate) async fn classes(State(api): State<SharedApiContext>) -> Json<ClassifierClasses> {
    let known = api.classifier.known_code();
    let all = known.environments.iter().flat_map(|(name, environment)| {
        let classes = environment.classes.iter();
        classes.map(move |class| shown_class(name, class))
    });
    Json(ClassifierClasses(all.collect()))
}

pub(crate) async fn classes_of(
    State(api): State<SharedApiContext>,
    PathVariables(name): PathVariables<String>,
) -> Result<Json<ClassifierClasses>, ApiFailure> {
    let name = find_environment(&api, &name).await?.name;
    let code = api.classifier.known_code();
    let classes = code.environments.get(&name).into_iter();
    let classes = classes.flat_map(|environment| environment.classes.iter());
    let classes = classes.map(|class| shown_class(&name, class));
    Ok(Json(ClassifierClasses(classes.collect())))
}

pub(crate) async fn class(
    State(api): State<SharedApiContext>,
    PathVariables((environment, name)): PathVariables<(String, String)>,
) -> Result<Json<ClassifierClass>, ApiFailure> {
    let environment = find_environment(&api, &environment).await?.name;
    let code = api.classifier.known_code();
    let classes = code
        .environments
        .get(&environment)
        .map(|known| &known.classes);
    let class = classes.and_then(|classes| classes.iter().find(|class| class.name == name));
    let class = class.ok_or_else(|| not_found("class", &name))?;
    Ok(Json(shown_class(&environment, class)))
}

/// Environments of the code directory are read at each request, so there is nothing to update.
pub(crate) async fn update(
    State(api): State<SharedApiContext>,
    QueryParameters(mut given): QueryParameters,
) -> Result<StatusCode, ApiFailure> {
    let environment = given.text("environment");
    given.finish()?;
    match api.classifier.update_classes(environment.as_deref()).await {
        Ok(()) => {}
        Err(ClassSourceError::UnknownEnvironment(name)) => {
            return Err(not_found("environment", &name));
        }
        Err(error) => return Err(class_source_error(error)),
    }
    match environment {
        Some(name) => drop(find_environment(&api, &name).await?),
        None => drop(all(&api).await?),
    }
    Ok(StatusCode::CREATED)
}

pub(crate) async fn last_update(State(api): State<SharedApiContext>) -> Json<LastClassUpdate> {
    let last_update = api.classifier.known_code().last_update_ms;
    Json(LastClassUpdate {
        last_update: last_update.map(PreciseTimestamp::from_ms),
    })
}

async fn find_environment(
    api: &SharedApiContext,
    name: &str,
) -> Result<ClassifierEnvironment, ApiFailure> {
    match all(api).await?.remove(name) {
        Some(synced) => Ok(environment_reply((name.to_owned(), synced))),
        None => Err(not_found("environment", name)),
    }
}

/// All known environments; the value is false if an environment could not be read.
async fn all(api: &SharedApiContext) -> Result<BTreeMap<String, bool>, ApiFailure> {
    let announced = api.classifier.announced_environments().await?;
    let mut all: BTreeMap<String, bool> = announced.into_iter().map(|name| (name, false)).collect();
    let read_here = !api.classifier.has_class_source();
    let code = Arc::clone(&api.code);
    let read = tokio::task::spawn_blocking(move || code.environments()).await;
    let read = read.map_err(|error| ApiFailure::internal("read the code", &error))?;
    let names = read.map_err(code::code_error)?.into_iter();
    all.extend(names.map(|name| (name.to_string(), read_here)));
    let told = api.classifier.known_code();
    let told = told.environments.iter();
    all.extend(told.map(|(name, environment)| (name.clone(), environment.synced)));
    Ok(all)
}

fn environment_reply((name, sync_succeeded): (String, bool)) -> ClassifierEnvironment {
    ClassifierEnvironment {
        name,
        sync_succeeded,
    }
}

fn shown_class(environment: &str, class: &PuppetClass) -> ClassifierClass {
    ClassifierClass {
        name: class.name.clone(),
        environment: environment.to_owned(),
        parameters: class.parameters.clone(),
    }
}

fn class_error(error: AnnounceError) -> ApiFailure {
    match error {
        AnnounceError::Name => {
            let refused = ApiError::new(kinds::SCHEMA_VIOLATION, error.to_string());
            refused.with("path", json!("environment")).into()
        }
        AnnounceError::TooMany => ApiError::new(kinds::ENVIRONMENT_LIMIT, error.to_string()).into(),
        AnnounceError::Store(error) => error.into(),
    }
}

fn class_source_error(error: ClassSourceError) -> ApiFailure {
    tracing::warn!(%error, "classes cannot be read");
    let text = error.to_string();
    match error {
        ClassSourceError::Unexpected { url, status, body } => {
            ApiError::new(kinds::UNEXPECTED_RESPONSE, text)
                .with("url", json!(url))
                .with("status", json!(status))
                .with("body", json!(body))
                .into()
        }
        _ => ApiError::new(kinds::CLASSES_UNAVAILABLE, text).into(),
    }
}
