//! Environments and their tasks, as other tools list them:
//!
//! ```text
//! GET /puppet/v3/environments
//! GET /puppet/v3/tasks?environment=…
//! GET /puppet/v3/tasks/{module}/{task}?environment=…
//! GET /puppet/v3/environment_modules[?environment=…]
//! GET /puppet/v3/plans?environment=…
//! GET /puppet/v3/plans/{module}/{plan}?environment=…
//! ```
//!
//! Only holders of a verified client certificate may read. Puppet's default rules allow environments and
//! tasks to all of them, and the others to none: those are there only with rules of an `auth.conf`.

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use catalogs::module_directories;
use environments::{CodeError, CodeReader, CodeVersion, EnvironmentName, EnvironmentTask};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::failure::PuppetApiFailure;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

/// Characters of a name of a request that a message shows.
const SHOWN_NAME: usize = 255;

/// State of the handlers.
#[derive(Debug, Clone)]
struct ListingServer {
    code: Arc<dyn CodeReader>,
    codedir: Arc<FilePath>,
}

#[derive(Serialize)]
struct EnvironmentList {
    search_paths: Vec<String>,
    environments: BTreeMap<String, ListedEnvironment>,
}

#[derive(Serialize)]
struct ListedEnvironment {
    settings: EnvironmentSettings,
}

#[derive(Serialize)]
struct EnvironmentSettings {
    modulepath: Vec<PathBuf>,
    manifest: PathBuf,
    environment_timeout: u64,
    config_version: &'static str,
}

#[derive(Serialize)]
struct EnvironmentModules {
    modules: Vec<ListedModule>,
    name: String,
}

#[derive(Serialize)]
struct ListedModule {
    name: String,
    version: Option<String>,
}

#[derive(Serialize)]
struct ListedPlan {
    name: String,
    environment: [TaskEnvironment; 1],
}

#[derive(Serialize)]
struct ListedTask {
    name: String,
    private: bool,
    description: String,
    environment: [TaskEnvironment; 1],
}

#[derive(Serialize)]
struct TaskEnvironment {
    name: String,
    code_id: Option<String>,
}

/// A name that does not exist, in puppetserver's words.
enum ListingFailure {
    Unknown(String),
    Other(PuppetApiFailure),
}

/// The routes; `has_rules` if an `auth.conf` decides who may read.
pub(crate) fn router(code: Arc<dyn CodeReader>, codedir: PathBuf, has_rules: bool) -> Router {
    let closed = Router::new()
        .route("/puppet/v3/environment_modules", get(list_modules))
        .route("/puppet/v3/plans", get(list_plans))
        .route("/puppet/v3/plans/{module}/{plan}", get(show_plan));
    let open = Router::new()
        .route("/puppet/v3/environments", get(list_environments))
        .route("/puppet/v3/tasks", get(list_tasks))
        .route("/puppet/v3/tasks/{module}/{task}", get(show_task));
    let routes = match has_rules {
        true => open.merge(closed),
        false => open,
    };
    routes.with_state(ListingServer {
        code,
        codedir: codedir.into(),
    })
}

async fn list_environments(
    State(server): State<ListingServer>,
    caller: PuppetApiCaller,
) -> Result<Response, ListingFailure> {
    caller.require_certname()?;
    let listed = run_blocking(move || server.environments()).await?;
    Ok(Json(listed).into_response())
}

async fn list_tasks(
    State(server): State<ListingServer>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, ListingFailure> {
    caller.require_certname()?;
    let environment = params.environment()?;
    let listed = run_blocking(move || server.tasks(&environment)).await?;
    Ok(Json(listed).into_response())
}

async fn show_task(
    State(server): State<ListingServer>,
    Path((module, task)): Path<(String, String)>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, ListingFailure> {
    caller.require_certname()?;
    let environment = params.environment()?;
    let shown = run_blocking(move || server.task(&environment, &module, &task)).await?;
    Ok(Json(shown).into_response())
}

async fn list_modules(
    State(server): State<ListingServer>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, ListingFailure> {
    caller.require_certname()?;
    if params.get("environment")?.is_none() {
        let listed = run_blocking(move || server.all_modules()).await?;
        return Ok(Json(listed).into_response());
    }
    let environment = params.environment()?;
    let listed = run_blocking(move || server.modules(&environment)).await?;
    Ok(Json(listed).into_response())
}

async fn list_plans(
    State(server): State<ListingServer>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, ListingFailure> {
    caller.require_certname()?;
    let environment = params.environment()?;
    let listed = run_blocking(move || server.plans(&environment)).await?;
    Ok(Json(listed).into_response())
}

async fn show_plan(
    State(server): State<ListingServer>,
    Path((module, plan)): Path<(String, String)>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, ListingFailure> {
    caller.require_certname()?;
    let environment = params.environment()?;
    let shown = run_blocking(move || server.plan(&environment, &module, &plan)).await?;
    Ok(Json(shown).into_response())
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ListingFailure> + Send + 'static,
) -> Result<T, ListingFailure> {
    let working = tokio::task::spawn_blocking(work).await;
    working.map_err(|panic| PuppetApiFailure::internal(&panic))?
}

impl ListingServer {
    fn environments(&self) -> Result<EnvironmentList, ListingFailure> {
        let mut environments = BTreeMap::new();
        for name in self.code.environments().map_err(failure)? {
            // one that was removed meanwhile, or whose `environment.conf` cannot be read
            let listed = self.code.version(&name).map(|it| self.settings(&*it));
            match listed {
                Ok(Ok(settings)) => {
                    environments.insert(name.to_string(), ListedEnvironment { settings });
                }
                Ok(Err(error)) => {
                    let error = &error as &(dyn std::error::Error + 'static);
                    tracing::warn!(environment = %name, error, "an environment is not listed");
                }
                Err(error) => {
                    let error = &error as &(dyn std::error::Error + 'static);
                    tracing::warn!(environment = %name, error, "an environment is not listed");
                }
            }
        }
        let search_path = self.codedir.join("environments");
        Ok(EnvironmentList {
            search_paths: vec![format!("file://{}", search_path.display())],
            environments,
        })
    }

    fn settings(
        &self,
        version: &dyn CodeVersion,
    ) -> Result<EnvironmentSettings, catalogs::EnvironmentReadError> {
        let base = [self.codedir.join("modules")];
        let modulepath = module_directories(version.directory(), &self.codedir, &base)?;
        Ok(EnvironmentSettings {
            modulepath,
            manifest: version.directory().join("manifests"),
            environment_timeout: 0,
            config_version: "",
        })
    }

    fn version(&self, name: &EnvironmentName) -> Result<Arc<dyn CodeVersion>, ListingFailure> {
        match self.code.version(name) {
            Ok(version) => Ok(version),
            Err(error) if error.is_not_found() => Err(ListingFailure::Unknown(format!(
                "Could not find environment '{name}'"
            ))),
            Err(error) => Err(failure(error)),
        }
    }

    fn tasks(&self, environment: &EnvironmentName) -> Result<Vec<ListedTask>, ListingFailure> {
        let tasks = self.version(environment)?.tasks().map_err(failure)?;
        let tasks = tasks.into_iter().map(|task| ListedTask {
            name: task.name.to_string(),
            private: task.private,
            description: task.description.unwrap_or_default(),
            environment: [TaskEnvironment {
                name: environment.to_string(),
                code_id: None,
            }],
        });
        Ok(tasks.collect())
    }

    fn modules(&self, environment: &EnvironmentName) -> Result<EnvironmentModules, ListingFailure> {
        let version = self.version(environment)?;
        let modules = version.modules().map_err(failure)?.into_iter();
        let modules = modules.map(|module| {
            let metadata = version.source(Some(&module.name), "metadata.json");
            let metadata = metadata.map_err(failure)?;
            let metadata = metadata.and_then(|it| serde_json::from_slice(&it.content).ok());
            let metadata: Value = metadata.unwrap_or_default();
            Ok(ListedModule {
                name: module.name,
                version: metadata["version"].as_str().map(str::to_owned),
            })
        });
        Ok(EnvironmentModules {
            modules: modules.collect::<Result<_, ListingFailure>>()?,
            name: environment.to_string(),
        })
    }

    fn all_modules(&self) -> Result<Vec<EnvironmentModules>, ListingFailure> {
        let environments = self.code.environments().map_err(failure)?;
        environments.iter().map(|it| self.modules(it)).collect()
    }

    fn plans(&self, environment: &EnvironmentName) -> Result<Vec<ListedPlan>, ListingFailure> {
        let plans = self.version(environment)?.plans().map_err(failure)?;
        let plans = plans.into_iter().map(|plan| ListedPlan {
            name: plan.name.to_string(),
            environment: [TaskEnvironment {
                name: environment.to_string(),
                code_id: None,
            }],
        });
        Ok(plans.collect())
    }

    fn plan(
        &self,
        environment: &EnvironmentName,
        module: &str,
        plan: &str,
    ) -> Result<Value, ListingFailure> {
        let version = self.version(environment)?;
        require_module(&*version, module)?;
        let name = full_name(module, plan);
        let unknown = || ListingFailure::Unknown(format!("Could not find plan '{}'", shown(plan)));
        let parsed = name.parse().map_err(|_| unknown())?;
        match version.plan(&parsed) {
            Ok(_) => Ok(json!({"metadata": {}, "name": name})),
            Err(error) if error.is_not_found() => Err(unknown()),
            Err(error) => Err(failure(error)),
        }
    }

    fn task(
        &self,
        environment: &EnvironmentName,
        module: &str,
        task: &str,
    ) -> Result<Value, ListingFailure> {
        let version = self.version(environment)?;
        require_module(&*version, module)?;
        let unknown = || ListingFailure::Unknown(format!("Could not find task '{}'", shown(task)));
        let full_name = full_name(module, task);
        let name = full_name.parse().map_err(|_| unknown())?;
        let found = match version.task(&name) {
            Ok(found) => found,
            Err(error) if error.is_not_found() => return Err(unknown()),
            Err(error) => return Err(task_failure(&error)),
        };
        let metadata = read_metadata(&*version, module, task)?;
        Ok(json!({
            "metadata": metadata,
            "name": full_name,
            "files": file_documents(&found, environment),
        }))
    }
}

/// The name of a task or plan; `init` is the one with the name of the module.
fn full_name(module: &str, name: &str) -> String {
    match name {
        "init" => module.to_owned(),
        name => format!("{module}::{name}"),
    }
}

/// The begin of a name of a request, for messages.
fn shown(name: &str) -> String {
    name.chars().take(SHOWN_NAME).collect()
}

fn require_module(version: &dyn CodeVersion, module: &str) -> Result<(), ListingFailure> {
    match version.module(module).map_err(failure)? {
        Some(_) => Ok(()),
        None => Err(ListingFailure::Unknown(format!(
            "Could not find module '{}'",
            shown(module)
        ))),
    }
}

/// The metadata of a task as its file has them; empty without a file.
fn read_metadata(
    version: &dyn CodeVersion,
    module: &str,
    task: &str,
) -> Result<Map<String, Value>, ListingFailure> {
    let path = format!("tasks/{task}.json");
    let source = version.source(Some(module), &path).map_err(failure)?;
    let Some(source) = source else {
        return Ok(Map::new());
    };
    // the task was read, so its metadata are an object
    Ok(serde_json::from_slice(&source.content).unwrap_or_default())
}

fn file_documents(task: &EnvironmentTask, environment: &EnvironmentName) -> Vec<Value> {
    let files = task.files.iter().map(|file| {
        json!({
            "filename": file.filename.as_str(),
            "sha256": file.sha256.to_string(),
            "size_bytes": file.size_bytes,
            "uri": {"path": file.uri_path, "params": {"environment": environment.as_str()}},
        })
    });
    files.collect()
}

fn failure(error: CodeError) -> ListingFailure {
    ListingFailure::Other(crate::files::code_failure(error))
}

/// A task that cannot be run as it is.
fn task_failure(error: &CodeError) -> ListingFailure {
    ListingFailure::Other(PuppetApiFailure::server_error(error.to_string()))
}

impl From<PuppetApiFailure> for ListingFailure {
    fn from(failure: PuppetApiFailure) -> Self {
        Self::Other(failure)
    }
}

impl IntoResponse for ListingFailure {
    fn into_response(self) -> Response {
        match self {
            Self::Unknown(message) => (StatusCode::NOT_FOUND, message).into_response(),
            Self::Other(failure) => failure.into_response(),
        }
    }
}
