//! A running installation for the tests that attack it. Main type: [`World`].
//!
//! Invariant: tests wait for events (a file, a log line, a state), and every wait has a deadline
//! that only a broken program reaches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::client::Client;
use testkit::installation::Installation;
use testkit::service::Service;
use tokio::process::Command;

/// Long enough for a machine that compiles at the same time.
const DEADLINE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(20);

/// A server and its agents.
pub(crate) struct World {
    pub(crate) installation: Installation,
    pub(crate) client: Client,
    pub(crate) server: Option<Service>,
    pub(crate) agents: BTreeMap<String, Service>,
}

/// A task that reports its start and waits until it may end.
///
/// It also ends when the installation is gone, so that a failed test leaves nothing behind.
pub(crate) struct Gate {
    root: PathBuf,
    begun: PathBuf,
    end: PathBuf,
}

// === impl World ===

impl World {
    /// Starts all programs, on the server's own broker.
    pub(crate) async fn start(nodes: &[&str]) -> Self {
        Self::of(crate::installation(""), nodes).await
    }

    /// Starts all programs in a prepared installation.
    pub(crate) async fn of(installation: Installation, nodes: &[&str]) -> Self {
        let server = installation.server().start().await.unwrap();
        let client = Client::login(&installation).await.unwrap();
        let mut world = Self {
            installation,
            client,
            server: Some(server),
            agents: BTreeMap::new(),
        };
        for name in nodes {
            world.start_agent(name, "").await;
        }
        world.client.connected(nodes.len()).await.unwrap();
        world
    }

    pub(crate) fn root(&self) -> &Path {
        self.installation.root()
    }

    pub(crate) async fn start_agent(&mut self, name: &str, extra: &str) {
        let port = self.installation.broker_port();
        let agent = self.installation.agent(name, port, extra).unwrap();
        let agent = agent.start().await.unwrap();
        self.agents.insert(name.to_owned(), agent);
    }

    pub(crate) async fn kill_server(&mut self) {
        self.server.take().unwrap().kill().await.unwrap();
    }

    pub(crate) async fn start_server(&mut self) {
        self.server = Some(self.installation.server().start().await.unwrap());
    }

    /// A shell task of the environment `production`, with these parameters of type `String`.
    pub(crate) fn shell(&self, name: &str, parameters: &[&str], script: &str) {
        let declared = parameters
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "String"})));
        let declared: serde_json::Map<_, _> = declared.collect();
        let metadata = json!({"input_method": "environment", "parameters": declared});
        let script = format!("#!/bin/sh\n{script}\n");
        self.installation
            .add_task(name, "init.sh", &metadata, &script)
            .unwrap();
    }

    /// Creates the task `name`: `before`, then the gate, then `after`.
    pub(crate) fn gate(&self, name: &str, before: &str, after: &str) -> Gate {
        let script = format!(
            "{before}\ntouch \"$PT_begun\"\nwhile [ ! -e \"$PT_end\" ] && cd \"$PT_root\"; do sleep 0.05; done\n{after}"
        );
        self.shell(name, &["begun", "end", "root"], &script);
        Gate {
            root: self.root().to_owned(),
            begun: self.root().join(format!("{name}-begun")),
            end: self.root().join(format!("{name}-end")),
        }
    }

    /// Runs a task on nodes and returns the job.
    pub(crate) async fn job(&self, task: &str, nodes: &[&str], params: Value) -> u64 {
        self.client.run_task(task, nodes, params).await.unwrap()
    }

    /// Runs a task on one node to its end and returns its row.
    pub(crate) async fn run(&self, task: &str, node: &str, params: Value) -> Value {
        let job = self.job(task, &[node], params).await;
        self.ended(job).await.remove(0)
    }

    /// Waits for the end of a job; returns its nodes.
    pub(crate) async fn ended(&self, job: u64) -> Vec<Value> {
        self.client.wait(job).await.unwrap();
        self.client.nodes(job).await.unwrap()
    }

    /// Waits until the node is connected, or is not.
    pub(crate) async fn until_connected(&self, node: &str, wanted: bool) {
        let path = format!("/orchestrator/v1/inventory/{node}");
        until(&format!("{node} connected: {wanted}"), || async {
            self.client.get(&path).await.unwrap()["connected"] == wanted
        })
        .await;
    }

    /// `tutti` with the address of this server and the token of its own login.
    pub(crate) async fn tutti(&self) -> Command {
        let password = self.installation.data_dir().join("admin-password");
        let mut login = self.command();
        login.args(["login", "admin", "--password-file"]);
        let login = login.arg(password).output().await.unwrap();
        let text = String::from_utf8_lossy(&login.stderr);
        assert!(login.status.success(), "{text}");
        self.command()
    }

    /// Runs `tutti ca …`; returns its output.
    pub(crate) async fn ca(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tutti"));
        command.arg("ca").args(arguments).arg("--config");
        command.arg(self.root().join("tutti.toml"));
        let output = command.output().await.unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        assert!(output.status.success(), "ca {arguments:?}: {text}");
        text
    }

    /// Stops every program, each of which must exit with 0.
    pub(crate) async fn stop(mut self) {
        let agents = std::mem::take(&mut self.agents).into_values();
        for service in agents.chain(self.server.take()) {
            let log = service.log_text();
            let status = service.stop().await.unwrap();
            assert!(status.success(), "{status}; log:\n{log}");
        }
    }

    /// `tutti` with the address of this server and its own token file.
    pub(crate) fn command(&self) -> Command {
        let url = format!("https://localhost:{}", self.installation.api_port());
        let mut command = Command::new(env!("CARGO_BIN_EXE_tutti"));
        command
            .env("TUTTI_SERVICE_URL", url)
            .env(
                "TUTTI_CACERT",
                self.installation.ca_dir().join("ca_crt.pem"),
            )
            .env("TUTTI_TOKEN_FILE", self.root().join("token"))
            .kill_on_drop(true);
        command
    }
}

// === impl Gate ===

impl Gate {
    /// The parameters of the task.
    pub(crate) fn params(&self) -> Value {
        json!({"begun": self.begun, "end": self.end, "root": self.root})
    }

    pub(crate) async fn begun(&self) {
        file(&self.begun).await;
    }

    pub(crate) fn open(&self) {
        std::fs::write(&self.end, "").unwrap();
    }
}

/// Waits until the file exists.
pub(crate) async fn file(path: &Path) {
    until(&path.display().to_string(), || async { path.exists() }).await;
}

/// Waits until the service's log contains `text`.
pub(crate) async fn logged(service: &Service, text: &str) {
    let seen = || async { service.log_text().contains(text) };
    let waiting = wait(seen);
    assert!(
        tokio::time::timeout(DEADLINE, waiting).await.is_ok(),
        "`{text}` is not logged; log:\n{}",
        service.log_text()
    );
}

/// Files below a directory with this text in them.
pub(crate) fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let found = paths.flat_map(|path| match path.is_dir() {
        true => files_with(&path, text),
        false => {
            let bytes = std::fs::read(&path).unwrap();
            let has = bytes.windows(text.len()).any(|it| it == text.as_bytes());
            has.then_some(path).into_iter().collect()
        }
    });
    found.collect()
}

/// Waits until `there` returns true.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, there: impl Fn() -> F) {
    let waiting = tokio::time::timeout(DEADLINE, wait(there)).await;
    assert!(waiting.is_ok(), "in vain waited for: {what}");
}

async fn wait<F: Future<Output = bool>>(there: impl Fn() -> F) {
    while !there().await {
        tokio::time::sleep(LOOK).await;
    }
}
