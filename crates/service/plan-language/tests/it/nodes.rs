//! Nodes in memory, behind the real job engine. They answer as [`answer`] and [`program`] define,
//! each transaction once. The node `old` only has tasks, and `stock` announces nothing, as a pxp-agent.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use async_trait::async_trait;
use base64::Engine as _;
use environments::{BlobStore, CodeReader};
use fabric::{BrokerLink, BrokerPort, Fabric, FabricSendError};
use jobs::{Jobs, JobsConfig};
use pcp::{Certname, MessageId, PcpMessage, PcpUri};
use pki::seal::SealKey;
use pxp::action::{self, ActionResult};
use pxp::{AgentCapabilities, PxpMessageBody, PxpRequest, PxpResponse, RpcError};
use serde_json::{Value, json};
use store::Store;
use tokio::sync::watch;

use crate::applications::Applications;
use crate::shell;

#[derive(Clone)]
pub(crate) struct Nodes(Arc<Inner>);

struct Inner {
    port: Mutex<Option<Arc<BrokerPort>>>,
    /// The tasks that ran, by transaction.
    ran: Mutex<HashMap<String, String>>,
    /// The actions other than tasks that were requested, with their parameters.
    asked: Mutex<Vec<(String, Value)>>,
    /// Number of runs of Puppet by node.
    puppet_runs: Mutex<HashMap<String, u32>>,
    /// Tasks whose name ends in `hold`, and runs of Puppet with that tag, wait until this is true.
    go: watch::Sender<bool>,
    /// Tasks whose name ends in `moody` fail while this is true.
    is_broken: watch::Sender<bool>,
    /// True if outputs do not repeat the requests.
    is_silent: AtomicBool,
    /// The modules whose tasks are really run with a shell.
    shell: OnceLock<PathBuf>,
}

struct Link(Nodes);

impl Nodes {
    fn attach(fabric: &Fabric, names: &[&str]) -> Self {
        let nodes = Self(Arc::new(Inner {
            port: Mutex::default(),
            ran: Mutex::default(),
            asked: Mutex::default(),
            puppet_runs: Mutex::default(),
            go: watch::Sender::new(false),
            is_broken: watch::Sender::new(true),
            is_silent: AtomicBool::new(false),
            shell: OnceLock::new(),
        }));
        let broker = "pcp://broker.example.com/server".parse().unwrap();
        let port = Arc::new(fabric.attach_broker(broker, Arc::new(Link(nodes.clone()))));
        *nodes.0.port.lock().unwrap() = Some(Arc::clone(&port));
        for name in names {
            let capabilities = AgentCapabilities {
                version: "1".to_owned(),
                live_output: false,
                acknowledged_results: false,
                cancel: false,
                facts: false,
                extended_requests: false,
                file_servers: false,
                leases: false,
                spool_id: None,
            };
            let capabilities = (*name != "stock").then(|| Arc::new(capabilities));
            port.add_node(name.parse().unwrap(), capabilities);
        }
        nodes
    }

    pub(crate) fn let_go(&self) {
        self.0.go.send_replace(true);
    }

    pub(crate) fn be_silent(&self) {
        self.0.is_silent.store(true, Ordering::Relaxed);
    }

    /// From now on, commands and the tasks of these modules are really run.
    pub(crate) fn run_in_shell(&self, modules: &Path) {
        self.0.shell.set(modules.to_owned()).unwrap();
    }

    pub(crate) fn repair(&self) {
        self.0.is_broken.send_replace(false);
    }

    /// Returns `NODE TASK` for each task that ran, sorted.
    pub(crate) fn ran(&self) -> Vec<String> {
        let mut ran: Vec<String> = self.0.ran.lock().unwrap().values().cloned().collect();
        ran.sort();
        ran
    }

    /// Returns the parameters of all requests of this action, `MODULE ACTION`.
    pub(crate) fn asked(&self, what: &str) -> Vec<Value> {
        let asked = self.0.asked.lock().unwrap();
        let of_name = asked.iter().filter(|(name, _)| name == what);
        of_name.map(|(_, params)| params.clone()).collect()
    }

    async fn run(self, certname: Certname, request: PxpRequest) {
        let transaction_id = request.transaction_id;
        let params: Value = serde_json::from_str(request.params.get()).unwrap();
        let what = format!("{} {}", request.module, request.action);
        let is_task = request.module == "task" && request.action == "run";
        if certname.as_str() == "old" && !is_task {
            let description = match request.action.as_str() {
                "run" | "download" => format!("unknown module: {}", request.module),
                other => format!("unknown action '{other}' for module '{}'", request.module),
            };
            let error = RpcError {
                transaction_id,
                id: MessageId::random(),
                description,
            };
            return self.say(&certname, PxpMessageBody::Error(error)).await;
        }
        self.0
            .asked
            .lock()
            .unwrap()
            .push((what.clone(), params.clone()));
        let task = match is_task {
            true => params["task"].as_str().unwrap().to_owned(),
            false => what.clone(),
        };
        let first = {
            let mut ran = self.0.ran.lock().unwrap();
            let before = ran.insert(transaction_id.to_string(), format!("{certname} {task}"));
            before.is_none()
        };
        let id = transaction_id.clone();
        self.say(
            &certname,
            PxpMessageBody::ProvisionalResponse { transaction_id: id },
        )
        .await;
        assert!(first, "{certname} was asked twice for {task}");
        let is_puppet = request.module == "pxp-module-puppet";
        let flags = params["flags"].as_array().cloned().unwrap_or_default();
        if task.ends_with("hold") || (is_puppet && flags.contains(&json!("hold"))) {
            let mut go = self.0.go.subscribe();
            go.wait_for(|go| *go).await.unwrap();
        }
        if is_puppet {
            let results = action::encode(&self.run_puppet(&certname, &params));
            let response = PxpResponse {
                transaction_id,
                results,
            };
            let body = PxpMessageBody::NonBlockingResponse(response);
            return self.say(&certname, body).await;
        }
        let is_broken = *self.0.is_broken.borrow();
        let mut result = match (self.0.shell.get(), is_task) {
            (Some(modules), _) => shell::run(modules, &what, &params),
            (None, true) => answer(&certname, &task, &params["input"], is_broken),
            (None, false) => program(&what, &params),
        };
        if self.0.is_silent.load(Ordering::Relaxed) {
            let nothing = json!({"stdout": "", "stderr": "", "exit_code": 0});
            result.stdout = is_task.then(|| nothing.to_string());
        }
        let results = action::encode(&result);
        let response = PxpResponse {
            transaction_id,
            results,
        };
        self.say(&certname, PxpMessageBody::NonBlockingResponse(response))
            .await;
    }

    /// The number of runs of Puppet on this node.
    pub(crate) fn puppet_runs(&self, certname: &str) -> u32 {
        let runs = self.0.puppet_runs.lock().unwrap();
        runs.get(certname).copied().unwrap_or_default()
    }

    /// A run of Puppet: `b` needs three, `c` changes the same in each and always requests another one, all others change
    /// nothing.
    fn run_puppet(&self, certname: &Certname, params: &Value) -> Value {
        let number = {
            let mut runs = self.0.puppet_runs.lock().unwrap();
            let runs = runs.entry(certname.to_string()).or_default();
            *runs += 1;
            *runs
        };
        let change = match (certname.as_str(), number) {
            ("b", 1 | 2) => Some(format!("step {number}")),
            ("c", _) => Some("again".to_owned()),
            _ => None,
        };
        let is_reported = params["env"] == json!([action::REPORTED_RERUNS]);
        let mut result = json!({
            "kind": "apply", "time": "2026-11-29T01:00:00Z", "environment": "production",
            "transaction_uuid": format!("{certname}-{number}"), "metrics": {"total": 7}, "exitcode": 0,
            "version": 1, "status": if change.is_some() { "changed" } else { "unchanged" },
        });
        if let Some(change) = change {
            result["resources"] =
                json!([{"type": "Exec", "title": "x", "status": "changed", "messages": [change]}]);
            if is_reported {
                result["reruns"] = json!([{"key": "again", "delta_s": 0.01}]);
            }
        }
        result
    }

    async fn say(&self, certname: &Certname, body: PxpMessageBody) {
        let port = self.0.port.lock().unwrap().clone().unwrap();
        let message = body.into_message(port.engine_address().clone(), PcpUri::agent(certname));
        port.send_to_engine(certname.clone(), message).await;
    }
}

#[async_trait]
impl BrokerLink for Link {
    async fn deliver(&self, message: PcpMessage) -> Result<(), FabricSendError> {
        let target = message.target.as_ref().unwrap().common_name().to_owned();
        let body = PxpMessageBody::decode(&message.message_type, message.data.as_deref());
        if let PxpMessageBody::NonBlockingRequest(request) = body.unwrap() {
            tokio::spawn(self.0.clone().run(target.parse().unwrap(), request));
        }
        Ok(())
    }

    fn has_session(&self, _: &Certname) -> bool {
        false
    }
}

/// The result of an action of the agents' own modules: the request, as output.
fn program(what: &str, params: &Value) -> ActionResult {
    // The output for another user contains all parameters.
    let bare = match params["run_as"].is_null() {
        true => &params["run"]["command"],
        false => &Value::Null,
    };
    let lines = [&params["command"], &params["env"]["_TUTTI_LINE"], bare];
    let command = lines.into_iter().find_map(Value::as_str);
    let code = command.and_then(|it| it.strip_prefix("exit "));
    let path = params["path"].as_str();
    if what == "file collect" && path == Some("/gone") {
        let error =
            json!({"kind": "tutti/download-error", "msg": "cannot read /gone", "details": {}});
        return ActionResult {
            exitcode: 1,
            stdout: Some(json!({"_error": error}).to_string()),
            ..ActionResult::default()
        };
    }
    let stdout = match (what, command) {
        ("file collect", _) => collected(path.unwrap()).to_string(),
        ("file download", _) => "downloaded".to_owned(),
        ("file place", _) => "{}".to_owned(),
        (_, Some(command)) => format!("{command}\n"),
        _ => params.to_string(),
    };
    ActionResult {
        exitcode: code.map_or(0, number),
        stdout: Some(stdout),
        ..ActionResult::default()
    }
}

/// Returns the number at the beginning: 3 for `3; rest`.
fn number(text: &str) -> i64 {
    let digits = text.split(';').next().unwrap();
    digits.parse().unwrap()
}

/// The content of each file is its own path; `/hostile` is an answer that no node should give.
fn collected(path: &str) -> Value {
    let content = base64::engine::general_purpose::STANDARD.encode(path);
    let item = |path: &str| json!({"path": path, "content": content});
    match path {
        "/hostile" => json!({"is_directory": true, "items": [item("../../escaped")]}),
        "/etc/app/" => json!({"is_directory": true, "items": [{"path": "d"}, item("d/f")]}),
        _ => json!({"is_directory": false, "items": [item("")]}),
    }
}

/// The result of a task.
fn answer(certname: &Certname, task: &str, input: &Value, is_broken: bool) -> ActionResult {
    let own = |key: &str| !key.starts_with('_');
    let own: serde_json::Map<String, Value> = input
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| own(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let (exitcode, told) = match task {
        "m::fails" => (
            1,
            json!({"_error": {"kind": "m/broken", "msg": "it broke", "details": {}}}),
        ),
        "m::moody" if is_broken => (1, json!({"_error": {"kind": "m/moody", "msg": "not now"}})),
        "m::secret" => (0, json!({"_sensitive": {"password": "hunter2"}})),
        "m::takes" => (0, json!({"bytes": own["it"].to_string().len()})),
        "m::half" if certname.as_str() == "b" => (2, json!({"was": "b"})),
        "apply_helpers::apply_catalog" => (0, applied(input)),
        "apply_helpers::custom_facts" => (0, json!({"kernel": "Linux", "of": certname})),
        "apply_helpers::query_resources" if certname.as_str() == "c" => (
            127,
            json!({"_error": {"kind": "x", "msg": "no", "details": {"exit_code": 127}}}),
        ),
        "apply_helpers::query_resources" => (
            0,
            json!({"resources": [{"type": "User", "title": "root", "parameters": {"uid": 0}}]}),
        ),
        "bolt_shim::command" => {
            let command = input["command"].as_str().unwrap();
            let code = command
                .strip_prefix("exit ")
                .map_or(0, |it| it.parse().unwrap());
            (
                0,
                json!({"stdout": format!("{command}\n"), "stderr": "", "exit_code": code}),
            )
        }
        "bolt_shim::script" => (
            0,
            json!({"stdout": input["content"], "stderr": "", "exit_code": 0}),
        ),
        "bolt_shim::upload" => (0, json!({"path": input["path"]})),
        "bolt_shim::download" => (0, collected(input["path"].as_str().unwrap())),
        _ => (0, json!({"node": certname, "input": own})),
    };
    ActionResult {
        exitcode,
        stdout: Some(told.to_string()),
        ..ActionResult::default()
    }
}

/// The report of a catalog. Its resources have succeeded, except those whose titles say otherwise.
fn applied(input: &Value) -> Value {
    let resources = input["catalog"]["resources"].as_array().unwrap();
    let title = |resource: &Value| resource["title"].as_str().unwrap().to_owned();
    if resources.iter().any(|it| title(it) == "garbage") {
        return json!("hello");
    }
    let status = |resource: &Value| {
        let failed = title(resource) == "fails";
        let name = format!(
            "{}[{}]",
            resource["type"].as_str().unwrap(),
            title(resource)
        );
        let event = json!({"status": "failure", "message": "it failed"});
        let status = json!({
            "failed": failed, "events": if failed { vec![event] } else { Vec::new() },
            "message": resource["parameters"]["message"],
        });
        (name, status)
    };
    let statuses: serde_json::Map<String, Value> = resources.iter().map(status).collect();
    let failed = statuses.values().any(|status| status["failed"] == true);
    json!({
        "status": if failed { "failed" } else { "changed" }, "noop": input["_noop"],
        "resource_statuses": statuses, "metrics": {},
    })
}

/// Creates a job engine over these nodes.
pub(crate) async fn engine(
    directory: &Path,
    store: &Store,
    code: Arc<dyn CodeReader>,
    blobs: BlobStore,
    names: &[&str],
    applications: &Applications,
) -> (Jobs, Nodes) {
    let server: Certname = "tutti.example.com".parse().unwrap();
    let (fabric, inbox) = Fabric::new(PcpUri::server(&server));
    let seal = SealKey::open_or_create(&directory.join("seal")).unwrap();
    let config = JobsConfig {
        prune_after: None,
        downloads: Some(directory.join("downloads")),
        applications: Arc::new(applications.clone()),
        ..JobsConfig::default()
    };
    let nodes = Nodes::attach(&fabric, names);
    let jobs = Jobs::start(config, store.clone(), fabric, inbox, code, blobs, seal);
    (Box::pin(jobs).await.unwrap(), nodes)
}
