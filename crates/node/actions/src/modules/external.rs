//! External modules: every executable in `modules-dir` implements `metadata` and its actions. Main
//! type: [`ExternalModules`].
//!
//! The metadata of a module is read when it is first needed and again when its file changed, so an
//! agent starts without waiting for any of them. Invariant: a module name from a request is
//! compared with the names in the directory, never joined to a path.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::sync::Mutex;

use super::environment::AgentEnvironment;
use super::request_plan::{
    ActionPlan, PlannedProgram, ProcessInput, RequestPlan, RequestRefusal, RunPlan, parse,
};
use super::schema;
use crate::defaults::{MODULE_METADATA_BYTES, MODULE_METADATA_TIMEOUT};
use crate::spool::ResultKind;

/// The programs in `modules-dir`.
#[derive(Debug)]
pub(crate) struct ExternalModules {
    directory: Option<PathBuf>,
    config_directory: Option<PathBuf>,
    environment: AgentEnvironment,
    loaded: Mutex<HashMap<String, LoadedModule>>,
}

#[derive(Debug, Clone)]
struct LoadedModule {
    changed: Option<SystemTime>,
    module: Arc<ExternalModule>,
}

#[derive(Debug)]
struct ExternalModule {
    program: PathBuf,
    metadata: ExternalModuleMetadata,
}

/// The output of `<module> metadata`.
#[derive(Debug, Deserialize)]
struct ExternalModuleMetadata {
    actions: Vec<ExternalAction>,
    configuration: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct ExternalAction {
    name: String,
    input: Value,
    results: Value,
}

impl ExternalModules {
    pub(crate) fn new(
        directory: Option<PathBuf>,
        config_directory: Option<PathBuf>,
        environment: AgentEnvironment,
    ) -> Self {
        Self {
            directory,
            config_directory,
            environment,
            loaded: Mutex::default(),
        }
    }

    /// Plans a request for an external module.
    pub(crate) async fn plan(
        &self,
        name: &str,
        action: &str,
        params: &RawValue,
    ) -> Result<RequestPlan, RequestRefusal> {
        let program = self
            .find(name)
            .ok_or_else(|| RequestRefusal::UnknownModule(name.to_owned()))?;
        let module = self
            .load(name, program)
            .await
            .map_err(|why| RequestRefusal::Module {
                module: name.to_owned(),
                why,
            })?;
        let found = module.metadata.actions.iter().find(|it| it.name == action);
        let described = found.ok_or_else(|| RequestRefusal::UnknownAction {
            module: name.to_owned(),
            action: action.to_owned(),
        })?;
        let input: Value = parse(params)?;
        schema::check(&described.input, &input).map_err(RequestRefusal::Input)?;
        let mut stdin = json!({ "input": input });
        if let Some(configuration) =
            self.configuration(name, &module.metadata)
                .map_err(|why| RequestRefusal::Module {
                    module: name.to_owned(),
                    why,
                })?
        {
            stdin["configuration"] = configuration;
        }
        Ok(RequestPlan::Work(ActionPlan::Run(RunPlan {
            program: PlannedProgram::Installed(module.program.to_string_lossy().into_owned()),
            args: vec![action.to_owned()],
            input: ProcessInput::Stdin(stdin.to_string().into_bytes()),
            files: vec![],
            keep_files: false,
            result: ResultKind::Json {
                required: required(&described.results),
            },
            user: None,
            env: vec![],
        })))
    }

    /// The program whose stem is `name`. Files with an extension are not modules.
    fn find(&self, name: &str) -> Option<PathBuf> {
        let files = std::fs::read_dir(self.directory.as_deref()?).ok()?;
        files
            .filter_map(|file| Some(file.ok()?.path()))
            .find(|path| {
                path.file_name().is_some_and(|it| it == name) && path.extension().is_none()
            })
    }

    async fn load(&self, name: &str, program: PathBuf) -> Result<Arc<ExternalModule>, String> {
        let changed = std::fs::metadata(&program)
            .and_then(|meta| meta.modified())
            .ok();
        // Held while the metadata is read, so that many requests start the module once.
        let mut loaded = self.loaded.lock().await;
        if let Some(known) = loaded.get(name)
            && known.changed == changed
        {
            return Ok(Arc::clone(&known.module));
        }
        let metadata = self.ask_metadata(&program).await?;
        let module = Arc::new(ExternalModule { program, metadata });
        loaded.insert(
            name.to_owned(),
            LoadedModule {
                changed,
                module: Arc::clone(&module),
            },
        );
        Ok(module)
    }

    async fn ask_metadata(&self, program: &Path) -> Result<ExternalModuleMetadata, String> {
        let mut child = Command::new(program)
            .arg("metadata")
            .env_clear()
            .envs(self.environment.merge_variables(vec![]))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        let stdout = child.stdout.take().expect("stdout was asked for");
        let mut printed = Vec::new();
        let mut limited = stdout.take(MODULE_METADATA_BYTES as u64);
        let read = limited.read_to_end(&mut printed);
        tokio::time::timeout(MODULE_METADATA_TIMEOUT, read)
            .await
            .map_err(|_| format!("`metadata` took more than {MODULE_METADATA_TIMEOUT:?}"))?
            .map_err(|error| format!("cannot read its metadata: {error}"))?;
        decode_errors::json::from_slice(&printed)
            .map_err(|error| format!("its metadata is invalid: {error}"))
    }

    /// The content of `<modules-config-dir>/<name>.conf`, if that file exists.
    fn configuration(
        &self,
        name: &str,
        metadata: &ExternalModuleMetadata,
    ) -> Result<Option<Value>, String> {
        let Some(directory) = &self.config_directory else {
            return Ok(None);
        };
        let path = directory.join(format!("{name}.conf"));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let at = |what: String| format!("{}: {what}", path.display());
        let value = decode_errors::json::from_str(&text).map_err(|error| at(error.to_string()))?;
        if let Some(expected) = &metadata.configuration {
            schema::check(expected, &value).map_err(at)?;
        }
        Ok(Some(value))
    }
}

fn required(results: &Value) -> BTreeSet<String> {
    let names = results
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    names
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::tests::raw;
    use super::*;

    fn module(dir: &Path, name: &str, body: &str) {
        let path = dir.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn modules(dir: &Path) -> ExternalModules {
        let environment = AgentEnvironment::from_agent(&[]);
        ExternalModules::new(Some(dir.into()), Some(dir.into()), environment)
    }

    const METADATA: &str = r#"echo '{"description":"d","actions":[{"name":"run","description":"d",
        "input":{"type":"object","required":["flags"]},"results":{"required":["status"]}}],
        "configuration":{"type":"object","required":["bin"]}}'"#;

    #[tokio::test]
    async fn an_action_is_planned_from_the_metadata() {
        let dir = tempfile::tempdir().unwrap();
        module(dir.path(), "puppet", METADATA);
        std::fs::write(dir.path().join("puppet.conf"), r#"{"bin":"/x"}"#).unwrap();
        let params = raw(&json!({"flags": ["--noop"]}));
        let planned = modules(dir.path())
            .plan("puppet", "run", &params)
            .await
            .unwrap();
        let RequestPlan::Work(ActionPlan::Run(plan)) = planned else {
            panic!("{planned:?}")
        };
        let ProcessInput::Stdin(stdin) = plan.input else {
            panic!("{:?}", plan.input)
        };
        let stdin: Value = serde_json::from_slice(&stdin).unwrap();
        assert_eq!(
            stdin,
            json!({"input": {"flags": ["--noop"]}, "configuration": {"bin": "/x"}})
        );
        assert_eq!(plan.args, ["run"]);
        assert_eq!(
            plan.result,
            ResultKind::Json {
                required: ["status".to_owned()].into()
            }
        );
    }

    #[tokio::test]
    async fn what_cannot_be_planned_says_why() {
        let dir = tempfile::tempdir().unwrap();
        module(dir.path(), "good", METADATA);
        module(dir.path(), "chatty", "echo not json");
        module(dir.path(), "misconfigured", METADATA);
        std::fs::write(dir.path().join("misconfigured.conf"), "{}").unwrap();
        let modules = modules(dir.path());
        let flags = json!({"flags": []});
        for (name, action, params, expected) in [
            ("absent", "run", &flags, "unknown module: absent"),
            ("../good", "run", &flags, "unknown module: ../good"),
            ("good.conf", "run", &flags, "unknown module: good.conf"),
            (
                "good",
                "walk",
                &flags,
                "unknown action 'walk' for module 'good'",
            ),
            (
                "good",
                "run",
                &json!({}),
                "invalid input: input: lacks \"flags\"",
            ),
            ("chatty", "run", &flags, "its metadata is invalid"),
            ("misconfigured", "run", &flags, "input: lacks \"bin\""),
        ] {
            let error = modules
                .plan(name, action, &raw(params))
                .await
                .unwrap_err()
                .to_string();
            assert!(error.contains(expected), "{name} {action}: {error}");
        }
    }

    #[tokio::test]
    async fn a_changed_module_is_asked_again() {
        let dir = tempfile::tempdir().unwrap();
        module(dir.path(), "m", "echo broken");
        let modules = modules(dir.path());
        let params = raw(&json!({"flags": []}));
        assert!(modules.plan("m", "run", &params).await.is_err());
        module(dir.path(), "m", METADATA);
        modules.plan("m", "run", &params).await.unwrap();
    }
}
