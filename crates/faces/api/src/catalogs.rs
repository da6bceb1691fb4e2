//! `POST /tutti/v1/catalogs/compile` and `POST /tutti/v1/code/impact`.
//!
//! Invariant: both need the permission to compile catalogs of the environments whose code they
//! compile, since a catalog has secrets, and code in Ruby runs on the server.

use api_types::defaults::IMPACT_NODES_MAX;
use api_types::{
    ApiError, CatalogCompileCommand, CatalogCompilerChoice, CodeImpactCommand, CodeImpactGroup,
    CodeImpactReply, CompileMessage, CompiledCatalogReply, RubyCallCount, kinds,
};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use catalogs::{
    CatalogError, CatalogRequest, ChosenCompiler, CodeImpactRequest, CompileCaller, CompileOrigin,
    CompilePriority, CompiledNode, ImpactVersion, KeepCapabilitiesError, KeepExportsError,
    NodeMessage,
};
use code_store::versioned_code::VersionCodeId;
use environments::EnvironmentName;
use pcp::Certname;
use rbac::RequestedPermission;
use serde_json::json;

use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::code::code_error;
use crate::code_manager;
use crate::credentials::RequestCredentials;
use crate::defaults::CATALOG_RETRY_SECONDS;
use crate::failure::ApiFailure;
use crate::large_reply::large_reply;
use crate::near_names::with_near_names;

pub(crate) async fn compile(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    pass: RequestCredentials,
    StrictBody(command): StrictBody<CatalogCompileCommand>,
) -> Result<Response, ApiFailure> {
    let certname = certname("node", &command.node)?;
    let environment = match &command.environment {
        Some(name) => code_manager::environment("environment", name)?,
        None => {
            let facts = command.facts.clone();
            match api.catalogs.environment_of(&certname, facts).await {
                Ok(name) => name,
                Err(error) => return Err(catalog_failure(&api, error).await),
            }
        }
    };
    require_permission(&api, &caller, &environment)?;
    let code_id = code_id(&api, &environment, command.version.as_deref()).await?;
    let request = CatalogRequest {
        certname,
        environment: Some(environment),
        code_id,
        facts: command.facts,
        origin: CompileOrigin {
            caller: compile_caller(&caller, &pass),
            priority: CompilePriority::Foreground,
        },
        keep_exports: command.keep_exports,
    };
    match Box::pin(api.catalogs.compile(request)).await {
        Ok(compiled) => large_reply(reply(command.node, compiled)).await,
        Err(error) => Err(catalog_failure(&api, error).await),
    }
}

pub(crate) async fn impact(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    pass: RequestCredentials,
    StrictBody(command): StrictBody<CodeImpactCommand>,
) -> Result<Json<CodeImpactReply>, ApiFailure> {
    if command.nodes.len() > IMPACT_NODES_MAX {
        let msg = format!("at most {IMPACT_NODES_MAX} nodes may be named in a request");
        return Err(ApiError::new(kinds::VALIDATION, msg).into());
    }
    let nodes = command.nodes.iter().enumerate();
    let nodes = nodes.map(|(index, name)| certname(&format!("nodes[{index}]"), name));
    let nodes = nodes.collect::<Result<_, _>>()?;
    let after = code_manager::environment("environment", &command.environment)?;
    let before = match &command.against_environment {
        Some(name) => code_manager::environment("against_environment", name)?,
        None => after.clone(),
    };
    for environment in [&before, &after] {
        require_permission(&api, &caller, environment)?;
    }
    let request = CodeImpactRequest {
        before: ImpactVersion {
            code_id: code_id(&api, &before, command.against_version.as_deref()).await?,
            environment: before,
        },
        after: ImpactVersion {
            code_id: code_id(&api, &after, command.version.as_deref()).await?,
            environment: after,
        },
        nodes,
        caller: compile_caller(&caller, &pass),
    };
    let impact = match Box::pin(api.catalogs.impact(&request)).await {
        Ok(impact) => impact,
        Err(error) => return Err(catalog_failure(&api, error).await),
    };
    let groups = impact.groups.sorted().into_iter();
    Ok(Json(CodeImpactReply {
        against_code_id: impact.code_ids.0,
        code_id: impact.code_ids.1,
        equal: impact.groups.equal,
        groups: groups
            .map(|group| CodeImpactGroup {
                error: group.is_error,
                changes: group.changes,
                nodes: group.nodes,
            })
            .collect(),
    }))
}

fn certname(place: &str, text: &str) -> Result<Certname, ApiError> {
    text.parse()
        .map_err(|error| ApiError::invalid(place, error))
}

fn require_permission(
    api: &SharedApiContext,
    caller: &ApiCaller,
    environment: &EnvironmentName,
) -> Result<(), ApiFailure> {
    let permission =
        RequestedPermission::on("puppetserver", "compile_catalogs", environment.as_str());
    Ok(api.access.authorize(&caller.0, permission)?)
}

/// The client whose part of the queue is used. Programs have one identity, and are told apart by their
/// certificates.
pub(crate) fn compile_caller(caller: &ApiCaller, pass: &RequestCredentials) -> CompileCaller {
    CompileCaller::Client(pass.client_name(Some(caller)))
}

/// The code id of the version that begins with `digits`; `None` for the live version.
async fn code_id(
    api: &SharedApiContext,
    environment: &EnvironmentName,
    digits: Option<&str>,
) -> Result<Option<String>, ApiFailure> {
    let Some(digits) = digits else {
        return Ok(None);
    };
    let found = code_manager::manager(api)?
        .find_version(environment, digits)
        .await;
    let signature = found.map_err(code_manager::submit_error)?;
    let id = VersionCodeId {
        environment: environment.clone(),
        signature,
    };
    Ok(Some(id.to_string()))
}

fn reply(node: String, compiled: CompiledNode) -> CompiledCatalogReply {
    let milliseconds =
        |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let ruby_calls = compiled.ruby_calls.by_name.into_iter();
    CompiledCatalogReply {
        node,
        environment: compiled.environment.to_string(),
        code_id: compiled.code_id,
        compiler: compiler_choice(compiled.compiler),
        catalog: compiled.catalog,
        messages: compiled.messages.into_iter().map(message).collect(),
        ruby_calls: ruby_calls
            .map(|(name, (calls, time))| RubyCallCount {
                name,
                calls,
                total_ms: time.as_secs_f64() * 1e3,
            })
            .collect(),
        waited_ms: milliseconds(compiled.waited),
        compiled_ms: milliseconds(compiled.took),
    }
}

fn compiler_choice(chosen: ChosenCompiler) -> CatalogCompilerChoice {
    CatalogCompilerChoice {
        name: chosen.compiler.as_str().to_owned(),
        reason: chosen.reason,
    }
}

fn message(message: NodeMessage) -> CompileMessage {
    CompileMessage {
        level: message.level.to_owned(),
        message: message.text,
        place: message.place,
    }
}

/// The error of code, with its place.
fn compile_error(
    text: String,
    (file, line): (Option<&str>, Option<u32>),
    (hints, others): (&[String], &[String]),
) -> ApiError {
    ApiError::new(kinds::CATALOG_COMPILE, text)
        .with("file", json!(file))
        .with("line", json!(line))
        .with("hints", json!(hints))
        .with("others", json!(others))
}

/// The response to a catalog that there is not.
pub(crate) async fn catalog_failure(api: &SharedApiContext, error: CatalogError) -> ApiFailure {
    let text = error.to_string();
    match error {
        CatalogError::Code(error) => with_near_names(api, code_error(error)).await,
        CatalogError::Compile(error) => {
            let location = error.location.as_ref();
            let file = location.and_then(|it| it.file.as_deref());
            let place = (file, location.map(|it| it.line));
            compile_error(text, place, (&error.hints, &error.others)).into()
        }
        CatalogError::Graph(error) => {
            let location = error.location.as_ref();
            let file = location.and_then(|it| it.file.as_deref());
            let place = (file, location.map(|it| it.line));
            compile_error(text, place, (&error.hints, &error.others)).into()
        }
        CatalogError::PuppetserverCompile(_) | CatalogError::Document { .. } => {
            ApiError::new(kinds::CATALOG_COMPILE, text).into()
        }
        CatalogError::NoFacts { .. } => ApiError::new(kinds::UNKNOWN_NODE, text).into(),
        CatalogError::FactSource(error) => {
            tracing::warn!(error = %error_causes::chain(&error), "no facts to compile with");
            ApiError::new(kinds::FACTS_UNAVAILABLE, format!("{error}; try again")).into()
        }
        CatalogError::Classification(conflict) => {
            ApiError::new(kinds::CLASSIFICATION_CONFLICT, text)
                .with("conflict", json!(conflict))
                .into()
        }
        CatalogError::EnvironmentName { .. }
        | CatalogError::Environment { .. }
        | CatalogError::Listing { .. }
        | CatalogError::OnlyLive { .. }
        | CatalogError::ExportsElsewhere { .. }
        | CatalogError::ExportsOfPuppetserver { .. } => {
            ApiError::new(kinds::INVALID_ENVIRONMENT, text).into()
        }
        CatalogError::ExportsOfOtherCatalog { .. } => ApiError::new(kinds::VALIDATION, text).into(),
        CatalogError::KeepExports(KeepExportsError::Store { source, .. }) => source.into(),
        CatalogError::KeepExports(KeepExportsError::NodeDeleted { .. }) => {
            ApiError::new(kinds::UNKNOWN_NODE, text).into()
        }
        CatalogError::KeepCapabilities(KeepCapabilitiesError::Store { source, .. }) => {
            source.into()
        }
        CatalogError::KeepCapabilities(_) => ApiError::new(kinds::CATALOG_COMPILE, text).into(),
        CatalogError::KeepExports(_) => ApiError::new(kinds::CATALOG_COMPILE, text).into(),
        CatalogError::VersionRemoved { .. } => ApiError::new(kinds::UNKNOWN_VERSION, text).into(),
        CatalogError::QueueFull(_)
        | CatalogError::WaitedTooLong { .. }
        | CatalogError::Stopping => ApiError::new(kinds::UNAVAILABLE, text)
            .with("retry_after_seconds", json!(CATALOG_RETRY_SECONDS))
            .into(),
        CatalogError::Puppetserver(_) | CatalogError::NoPuppetserver { .. } => {
            ApiError::new(kinds::COMPILER_UNAVAILABLE, text).into()
        }
        error @ CatalogError::Defect { .. } => ApiFailure::internal("compile a catalog", &error),
    }
}
