//! Documents about tasks and plans.

use environments::{CodeError, CodeVersion, EnvironmentName, EnvironmentTask};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{ListingServer, shown, unknown};
use crate::failure::PuppetApiFailure;
use crate::files::code_failure;

#[derive(Serialize)]
pub(super) struct ListedPlan {
    name: String,
    environment: [TaskEnvironment; 1],
}

#[derive(Serialize)]
pub(super) struct ListedTask {
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

impl ListingServer {
    pub(super) fn tasks(
        &self,
        environment: &EnvironmentName,
    ) -> Result<Vec<ListedTask>, PuppetApiFailure> {
        let tasks = self.version(environment)?.tasks().map_err(code_failure)?;
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

    pub(super) fn plans(
        &self,
        environment: &EnvironmentName,
    ) -> Result<Vec<ListedPlan>, PuppetApiFailure> {
        let plans = self.version(environment)?.plans().map_err(code_failure)?;
        let plans = plans.into_iter().map(|plan| ListedPlan {
            name: plan.name.to_string(),
            environment: [TaskEnvironment {
                name: environment.to_string(),
                code_id: None,
            }],
        });
        Ok(plans.collect())
    }

    pub(super) fn plan(
        &self,
        environment: &EnvironmentName,
        module: &str,
        plan: &str,
    ) -> Result<Value, PuppetApiFailure> {
        let version = self.version(environment)?;
        require_module(&*version, module)?;
        let name = full_name(module, plan);
        let unknown = || unknown(format!("Could not find plan '{}'", shown(plan)));
        let parsed = name.parse().map_err(|_| unknown())?;
        match version.plan(&parsed) {
            Ok(_) => Ok(json!({"metadata": {}, "name": name})),
            Err(error) if error.is_not_found() => Err(unknown()),
            Err(error) => Err(code_failure(error)),
        }
    }

    pub(super) fn task(
        &self,
        environment: &EnvironmentName,
        module: &str,
        task: &str,
    ) -> Result<Value, PuppetApiFailure> {
        let version = self.version(environment)?;
        require_module(&*version, module)?;
        let unknown = || unknown(format!("Could not find task '{}'", shown(task)));
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

fn require_module(version: &dyn CodeVersion, module: &str) -> Result<(), PuppetApiFailure> {
    match version.module(module).map_err(code_failure)? {
        Some(_) => Ok(()),
        None => Err(unknown(format!(
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
) -> Result<Map<String, Value>, PuppetApiFailure> {
    let path = format!("tasks/{task}.json");
    let source = version.source(Some(module), &path).map_err(code_failure)?;
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

/// A task that cannot be run as it is.
fn task_failure(error: &CodeError) -> PuppetApiFailure {
    PuppetApiFailure::server_error(error.to_string())
}
