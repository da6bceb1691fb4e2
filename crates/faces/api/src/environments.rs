//! `GET environments` and the routes below it.

use std::collections::HashMap;
use std::sync::Arc;

use ::catalogs::{CompileOrigin, CompilePriority};
use api_types::environments::{
    AbsentNodes, ApplicationItem, ApplicationList, Environment, EnvironmentList, InstanceComponent,
    InstanceItem, InstanceList,
};
use axum::Json;
use axum::extract::State;
use compiler::{ApplicationComponent, ApplicationGraph};
use environments::CodeError;
use serde_json::Value;

use crate::SharedApiContext;
use crate::absent_nodes::find_absent_nodes;
use crate::base_url::BaseUrl;
use crate::caller::ApiCaller;
use crate::catalogs;
use crate::code;
use crate::code_manager;
use crate::credentials::RequestCredentials;
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

pub(crate) async fn applications(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    PathVariables(name): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<ApplicationList>, ApiFailure> {
    given.finish()?;
    let environment = code_manager::environment("environment", &name)?;
    let found = match api.catalogs.applications(&environment).await {
        Ok(found) => found,
        Err(error) => return Err(catalogs::catalog_failure(&api, error).await),
    };
    let items = found.iter().map(|application| {
        let parameters = application.parameters.iter().cloned();
        ApplicationItem {
            name: application.name.clone(),
            kind: "application".to_owned(),
            file: application.file.clone(),
            line: application.line,
            parameters: parameters
                .map(|(name, default)| (name, default.map_or(Value::Null, Value::String)))
                .collect(),
        }
    });
    Ok(Json(ApplicationList {
        items: items.collect(),
        instances: base.link(&format!("environments/{environment}/instances")),
    }))
}

pub(crate) async fn instances(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    pass: RequestCredentials,
    PathVariables(name): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<InstanceList>, ApiFailure> {
    given.finish()?;
    let environment = code_manager::environment("environment", &name)?;
    let origin = CompileOrigin {
        caller: catalogs::compile_caller(&caller, &pass),
        priority: CompilePriority::Foreground,
    };
    let engine = &api.catalogs;
    let compiling = engine.application_graph(&environment, None, &origin);
    match Box::pin(compiling).await {
        Ok(graph) => {
            let components = graph.applications.iter().flat_map(|it| &it.components);
            let nodes = components.map(|component| component.node.as_str());
            let absent_nodes = find_absent_nodes(&api, &caller, nodes).await?;
            Ok(Json(instance_list(&graph, absent_nodes)))
        }
        Err(error) => Err(catalogs::catalog_failure(&api, error).await),
    }
}

/// The instances and their components in the order in which they can run. Components that wait for each other
/// have none, so then the order is that of the site.
fn instance_list(graph: &ApplicationGraph, absent_nodes: AbsentNodes) -> InstanceList {
    let declared = || {
        let applications = graph.applications.iter();
        applications.flat_map(|it| &it.components).collect()
    };
    let ordered: Vec<&ApplicationComponent> =
        graph.producers_first().unwrap_or_else(|_| declared());
    let places = ordered.iter().enumerate();
    let places: HashMap<&str, usize> = places
        .map(|(place, component)| (&*component.reference, place))
        .collect();
    let place = |component: &ApplicationComponent| places.get(&*component.reference).copied();
    let mut instances: Vec<_> = graph.applications.iter().collect();
    instances.sort_by_key(|it| it.components.iter().filter_map(place).min());
    let items = instances.into_iter().map(|instance| {
        let mut components: Vec<_> = instance.components.iter().collect();
        components.sort_by_key(|component| place(component));
        let (application, title) = type_and_title(&instance.reference);
        InstanceItem {
            application,
            title,
            components: components.into_iter().map(instance_component).collect(),
        }
    });
    InstanceList {
        items: items.collect(),
        absent_nodes,
    }
}

fn instance_component(component: &ApplicationComponent) -> InstanceComponent {
    let (name, title) = type_and_title(&component.reference);
    InstanceComponent {
        component: name,
        title,
        node: component.node.clone(),
        produces: component.produces.clone(),
        consumes: component.consumes.clone(),
    }
}

/// The parts of a reference such as `Lamp[app1]`.
fn type_and_title(reference: &str) -> (String, String) {
    let (name, rest) = reference.split_once('[').unwrap_or((reference, ""));
    let title = rest.strip_suffix(']').unwrap_or(rest);
    (name.to_owned(), title.to_owned())
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
