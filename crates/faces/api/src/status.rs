//! Status of the server: `/status/v1/…` and `/orchestrator/v1/status`.

use std::time::Duration;

use api_types::status::StatusQuery;
use api_types::{ApiError, Object, ServiceState, ServiceStatus, Services, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use optional_feature::FeatureStatus;
use serde_json::{Value, json};

use crate::SharedApiContext;
use crate::code_manager::CodeService;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};
use error_causes::chain;

const ORCHESTRATOR: &str = "orchestrator-service";
const BROKER: &str = "broker-service";
pub(crate) const STATUS: &str = "status-service";
/// Puppet Enterprise's name of the service for code deployment.
pub const CODE_MANAGER_SERVICE: &str = "code-manager-service";
const FILE_SYNC_STORAGE: &str = "file-sync-storage-service";
pub(crate) const FILE_SYNC_CLIENT: &str = "file-sync-client-service";

pub(crate) async fn orchestrator(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Json<ServiceStatus>, ApiFailure> {
    let query = StatusQuery::read(given)?;
    Ok(Json(orchestrator_service(&api, &query).await))
}

pub(crate) async fn services(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<(StatusCode, Json<Services>), ApiFailure> {
    let services = all(&api, &StatusQuery::read(given)?).await;
    Ok((code(services.values()), Json(services)))
}

pub(crate) async fn service(
    State(api): State<SharedApiContext>,
    PathVariables(name): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<(StatusCode, Json<ServiceStatus>), ApiFailure> {
    let services = all(&api, &StatusQuery::read(given)?).await;
    let status = find_service(services, &name)?;
    Ok((code([&status]), Json(status)))
}

pub(crate) async fn simple(State(api): State<SharedApiContext>) -> (StatusCode, String) {
    let mut services = all(&api, &StatusQuery::default()).await;
    // For load balancers: a server without an optional part does all its other work.
    for feature in features(&api) {
        services.remove(feature.service());
    }
    let code = code(services.values());
    let state = if code == StatusCode::OK {
        ServiceState::Running
    } else {
        ServiceState::Error
    };
    (code, state.to_string())
}

pub(crate) async fn simple_service(
    State(api): State<SharedApiContext>,
    PathVariables(name): PathVariables<String>,
) -> Result<(StatusCode, String), ApiFailure> {
    let status = find_service(all(&api, &StatusQuery::default()).await, &name)?;
    Ok((code([&status]), status.state.to_string()))
}

async fn all(api: &SharedApiContext, query: &StatusQuery) -> Services {
    let broker = json!({"nodes_connected": api.fabric.connected_nodes().len()});
    let mut services = Services::from([
        (
            ORCHESTRATOR.to_owned(),
            orchestrator_service(api, query).await,
        ),
        (
            BROKER.to_owned(),
            report(&api.info.version, query, ServiceState::Running, broker),
        ),
        (
            STATUS.to_owned(),
            report(&api.info.version, query, ServiceState::Running, json!({})),
        ),
    ]);
    for feature in features(api) {
        let (state, details) = match feature.fault() {
            None => (ServiceState::Running, json!({})),
            // This route needs no token, so the response names no path.
            Some(fault) => (
                ServiceState::Error,
                json!({"error": fault.to_public_message()}),
            ),
        };
        let status = report(&api.info.version, query, state, details);
        // Of several directories or forges, the one that cannot be used determines the state.
        let known = services.entry(feature.service().to_owned());
        let shown = known.or_insert_with(|| status.clone());
        if shown.state == ServiceState::Running {
            *shown = status;
        }
    }
    let manager = crate::code_manager::manager(api).ok();
    let file_sync = manager.and_then(|it| crate::file_sync::services(it, query.level));
    if let Some((storage, client)) = file_sync {
        let shown = [(FILE_SYNC_STORAGE, storage), (FILE_SYNC_CLIENT, client)];
        services.extend(shown.map(|(name, status)| {
            let status = report(&api.info.version, query, ServiceState::Running, status);
            (name.to_owned(), status)
        }));
    }
    services
}

/// Configured optional parts of the server.
pub(crate) fn features(api: &SharedApiContext) -> Vec<FeatureStatus> {
    let code = api.code_manager.iter().flat_map(CodeService::features);
    code.chain(api.info.features.iter().cloned()).collect()
}

async fn orchestrator_service(api: &SharedApiContext, query: &StatusQuery) -> ServiceStatus {
    let patience = Duration::from_secs(query.timeout.clamp(1, 60));
    let db_up = match tokio::time::timeout(patience, api.store.last_event_id()).await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => {
            tracing::warn!(error = %chain(&error), "the store does not answer");
            false
        }
        Err(_) => false,
    };
    let state = if db_up {
        ServiceState::Running
    } else {
        ServiceState::Error
    };
    report(&api.info.version, query, state, json!({"db_up": db_up}))
}

/// A service in the form of the status routes.
pub(crate) fn report(
    version: &str,
    query: &StatusQuery,
    state: ServiceState,
    status: Value,
) -> ServiceStatus {
    // A request for critical services gets the state alone.
    let status = match status {
        Value::Object(status) if query.level != "critical" => status,
        _ => Object::new(),
    };
    ServiceStatus {
        service_version: version.to_owned(),
        service_status_version: 1,
        detail_level: query.level.to_owned(),
        state,
        status,
        active_alerts: Vec::new(),
    }
}

/// The service with this name.
pub(crate) fn find_service(mut services: Services, name: &str) -> Result<ServiceStatus, ApiError> {
    services.remove(name).ok_or_else(|| {
        let shown: String = name.chars().take(80).collect();
        let msg = format!("there is no service {shown:?}; /status/v1/services lists all");
        ApiError::new(kinds::UNKNOWN_SERVICE, msg).with("service", json!(shown))
    })
}

/// 200 if all services run.
pub(crate) fn code<'a>(services: impl IntoIterator<Item = &'a ServiceStatus>) -> StatusCode {
    let mut services = services.into_iter();
    if services.all(|service| service.state == ServiceState::Running) {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    }
}
