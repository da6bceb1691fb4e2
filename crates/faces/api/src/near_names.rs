//! Suggestions in errors about unknown environments, tasks and plans. Main function:
//! [`with_near_names`].
//!
//! Invariant: only names that the caller may list anyway are suggested (public tasks and plans,
//! names of environments), and the only path of the server's disk is that of the environments.

use std::sync::Arc;

use api_types::kinds;
use environments::{CodeError, CodeReader, EnvironmentName};
use serde_json::{Value, json};

use crate::SharedApiContext;
use crate::defaults::NAMES_TOLD;
use crate::failure::ApiFailure;

/// The place that was searched, and the names in it.
struct SearchedNames {
    unknown_name: String,
    /// A sentence that names the place.
    searched_scope: String,
    names: Vec<String>,
}

/// Adds the searched place and similar names to the error about an unknown name. Other errors stay
/// unchanged.
pub(crate) async fn with_near_names(api: &SharedApiContext, refused: ApiFailure) -> ApiFailure {
    let ApiFailure(error) = &refused;
    let detail = |key: &str| {
        error
            .body
            .details
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let (kind, environment) = (error.body.kind.clone(), detail("environment"));
    let wanted = detail("task")
        .or_else(|| detail("plan"))
        .or_else(|| environment.clone());
    let (Some(wanted), Some(environment)) = (wanted, environment) else {
        return refused;
    };
    let code = Arc::clone(&api.code);
    // Reading code blocks the thread.
    let searching =
        tokio::task::spawn_blocking(move || search(&*code, &kind, &environment, wanted));
    match searching.await {
        Ok(Ok(Some(searched))) => add_near_names(refused, &searched),
        // The error is correct without suggestions.
        _ => refused,
    }
}

fn search(
    code: &dyn CodeReader,
    kind: &str,
    environment: &str,
    wanted: String,
) -> Result<Option<SearchedNames>, CodeError> {
    if kind == kinds::UNKNOWN_ENVIRONMENT.name {
        let names: Vec<_> = code
            .environments()?
            .iter()
            .map(ToString::to_string)
            .collect();
        let place = format!("this server has the code of {}", list_names(&names));
        return Ok(Some(SearchedNames {
            unknown_name: wanted,
            searched_scope: place,
            names,
        }));
    }
    let Ok(name) = environment.parse::<EnvironmentName>() else {
        return Ok(None);
    };
    let version = code.version(&name)?;
    let names: Vec<String> = if kind == kinds::UNKNOWN_TASK.name {
        let tasks = version.tasks()?.into_iter().filter(|task| !task.private);
        tasks.map(|task| task.name.to_string()).collect()
    } else if kind == kinds::UNKNOWN_PLAN.name {
        let plans = version.plans()?.into_iter().filter(|plan| !plan.private);
        plans.map(|plan| plan.name.to_string()).collect()
    } else {
        return Ok(None);
    };
    let modules: Vec<_> = version
        .modules()?
        .into_iter()
        .map(|module| module.name)
        .collect();
    let place = format!("looked in its modules: {}", list_names(&modules));
    Ok(Some(SearchedNames {
        unknown_name: wanted,
        searched_scope: place,
        names,
    }))
}

fn list_names(names: &[String]) -> String {
    let first = names
        .iter()
        .take(NAMES_TOLD)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match names.len() {
        0 => "none".to_owned(),
        all if all > NAMES_TOLD => format!("{first} and {} more", all - NAMES_TOLD),
        _ => first,
    }
}

fn add_near_names(ApiFailure(mut refused): ApiFailure, searched: &SearchedNames) -> ApiFailure {
    let names = || searched.names.iter().map(String::as_str);
    let near = suggest::nearest(&searched.unknown_name, names());
    let hint = suggest::did_you_mean(&searched.unknown_name, names());
    refused.body.msg = format!("{}{hint}; {}", refused.body.msg, searched.searched_scope);
    match near.is_empty() {
        true => ApiFailure(refused),
        false => ApiFailure(refused.with("near", json!(near))),
    }
}
