//! Nodes without an agent: `/inventory/v1`.
//!
//! Invariant: secrets are put into a [`Connection`] at once, and are returned only to users with
//! the permission to see them, after an audit entry.

mod targets;

use std::collections::HashSet;

use api_types::connections::check_transport;
use api_types::{
    ApiError, ConnectionCreated, ConnectionItem, ConnectionList, ConnectionsQuery,
    CreateConnection, DeleteConnection, Route, kinds, routes,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use pcp::Certname;
use serde_json::json;
use ssh::{ConnectionView, CreateError, DuplicatePolicy, SshConnection};

use crate::SharedApiContext;
use crate::audit::{self, RequestOrigin};
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::QueryParameters;

pub(crate) use self::targets::add_ssh_targets;

pub(crate) async fn create(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    StrictBody(command): StrictBody<CreateConnection>,
) -> Result<(StatusCode, Json<ConnectionCreated>), ApiFailure> {
    check_transport("type", &command.kind)?;
    let certnames = certnames(&command.certnames)?;
    let duplicates = parse_duplicates(command.duplicates.as_deref())?;
    if duplicates == DuplicatePolicy::Replace {
        // Replacing deletes the old connection.
        caller.demand(&api, "nodes", "delete_connections", "*")?;
    }
    let parameters = command.parameters.into_object("parameters")?;
    let sensitive = command
        .sensitive_parameters
        .into_object("sensitive_parameters")?;
    let connection = SshConnection::read(&parameters, &sensitive).map_err(|error| {
        let of = match ssh::SENSITIVE_PARAMETERS.contains(&error.key.as_str()) {
            true => "sensitive_parameters",
            false => "parameters",
        };
        ApiError::invalid(&format!("{of}.{}", error.key), error.why)
    })?;
    if connection.replaces_agent() {
        // Tasks for such nodes, and their secrets, are sent to the host named here.
        caller.demand(&api, "tasks", "run", "*")?;
    }
    let created = api.connections.create(&certnames, connection, duplicates);
    let connection_id = created.await.map_err(create_error)?;
    let created = ConnectionCreated { connection_id };
    Ok((StatusCode::CREATED, Json(created)))
}

pub(crate) async fn delete(
    State(api): State<SharedApiContext>,
    StrictBody(command): StrictBody<DeleteConnection>,
) -> Result<StatusCode, ApiFailure> {
    let certnames = certnames(&command.certnames)?;
    api.connections.delete(&certnames).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn list(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    origin: RequestOrigin,
    QueryParameters(given): QueryParameters,
) -> Result<Json<ConnectionList>, ApiFailure> {
    let asked = ConnectionsQuery::from_parameters(given)?;
    answer(&api, (&routes::CONNECTIONS, &origin), &caller, &asked).await
}

pub(crate) async fn query(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    origin: RequestOrigin,
    StrictBody(asked): StrictBody<ConnectionsQuery>,
) -> Result<Json<ConnectionList>, ApiFailure> {
    answer(&api, (&routes::CONNECTIONS_POST, &origin), &caller, &asked).await
}

async fn answer(
    api: &SharedApiContext,
    (route, origin): (&'static Route, &RequestOrigin),
    caller: &ApiCaller,
    asked: &ConnectionsQuery,
) -> Result<Json<ConnectionList>, ApiFailure> {
    asked.check()?;
    if asked.sensitive {
        caller.demand(api, "nodes", "view_inventory_sensitive", "*")?;
    }
    let names = asked.certnames.as_deref().map(certnames).transpose()?;
    let found = api.connections.query(names.as_deref(), asked.sensitive);
    if asked.sensitive && asked.wants("sensitive_parameters") && !found.is_empty() {
        let names = found.iter().flat_map(|it| &it.certnames);
        let names = names.map(ToString::to_string).collect();
        let what = ("connections", names);
        audit::record_secrets_read(api, route, origin, caller, what).await?;
    }
    let items = found.into_iter().map(|shown| item(shown, asked)).collect();
    Ok(Json(ConnectionList { items }))
}

fn item(shown: ConnectionView, asked: &ConnectionsQuery) -> ConnectionItem {
    let names = shown.certnames.iter().map(ToString::to_string).collect();
    let with_secrets = asked.sensitive && asked.wants("sensitive_parameters");
    ConnectionItem {
        connection_id: shown.id,
        certnames: asked.wants("certnames").then_some(names),
        kind: asked.wants("type").then(|| "ssh".to_owned()),
        parameters: asked.wants("parameters").then_some(shown.parameters),
        sensitive_parameters: with_secrets.then_some(shown.sensitive),
    }
}

fn certnames(names: &[String]) -> Result<Vec<Certname>, ApiError> {
    let mut seen = HashSet::new();
    let mut certnames = Vec::with_capacity(names.len());
    for (place, name) in names.iter().enumerate() {
        let certname: Certname = name
            .parse()
            .map_err(|error| ApiError::invalid(&format!("certnames[{place}]"), error))?;
        if seen.insert(certname.clone()) {
            certnames.push(certname);
        }
    }
    if certnames.is_empty() {
        return Err(ApiError::invalid("certnames", "at least one is needed"));
    }
    Ok(certnames)
}

fn parse_duplicates(text: Option<&str>) -> Result<DuplicatePolicy, ApiError> {
    match text {
        None | Some("error") => Ok(DuplicatePolicy::Error),
        Some("replace") => Ok(DuplicatePolicy::Replace),
        Some(_) => {
            let what = "this is none of error, replace";
            Err(ApiError::invalid("duplicates", what))
        }
    }
}

fn create_error(error: CreateError) -> ApiFailure {
    let text = error.to_string();
    match error {
        CreateError::Connection(_) => ApiError::new(kinds::VALIDATION, text).into(),
        CreateError::Duplicates(names) => ApiError::new(kinds::DUPLICATE_CERTNAMES, text)
            .with("certnames", json!(names))
            .into(),
        CreateError::Agents(names) => ApiError::new(kinds::KNOWN_AGENTS, text)
            .with("certnames", json!(names))
            .into(),
        CreateError::Store(error) => ApiFailure::internal("store the connection", &error),
    }
}
