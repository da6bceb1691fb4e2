//! A client of the API for tests, which continues over restarts of the server. Main type:
//! [`Client`].

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::installation::Installation;

/// The time for which a request is repeated while the server may be down.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);

/// A client with the token of a user, usually `admin`.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
}

// === impl Client ===

impl Client {
    /// Logs in as `admin` with the password of the server's first start.
    pub async fn login(installation: &Installation) -> Result<Self> {
        let ca = installation.ca_dir().join("ca_crt.pem");
        let base = format!("https://localhost:{}", installation.api_port());
        Self::login_at(&base, &ca, &installation.data_dir().join("admin-password")).await
    }

    /// Logs in as `admin` at any server. `password` is the file of the first password.
    pub async fn login_at(base: &str, ca: &Path, password: &Path) -> Result<Self> {
        let mut client = Self {
            http: http_client(ca)?,
            base: base.to_owned(),
            token: String::new(),
        };
        let password = std::fs::read_to_string(password).context("no first password")?;
        let body = json!({"login": "admin", "password": password.trim()});
        let reply = client.post("/rbac-api/v1/auth/token", &body).await?;
        client.token = reply["token"].as_str().context("no token")?.to_owned();
        Ok(client)
    }

    /// Logs in as another user.
    pub async fn login_as(&self, login: &str, password: &str) -> Result<Self> {
        let mut client = self.clone();
        let body = json!({"login": login, "password": password});
        let reply = client.post("/rbac-api/v1/auth/token", &body).await?;
        client.token = reply["token"].as_str().context("no token")?.to_owned();
        Ok(client)
    }

    /// The token that the client sends with every request.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Runs a task and returns the job's number. It is not repeated: after a lost connection it is
    /// unknown if the job was created.
    pub async fn run_task(&self, task: &str, nodes: &[&str], params: Value) -> Result<u64> {
        let body = json!({"task": task, "environment": "production", "params": params,
                          "scope": {"nodes": nodes}});
        let reply = self.post("/orchestrator/v1/command/task", &body).await?;
        reply["job"]["name"]
            .as_str()
            .and_then(|name| name.parse().ok())
            .context("no job number")
    }

    /// A request with the token, to be completed and sent by the caller.
    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.base);
        self.http
            .request(method, url)
            .header("x-authentication", &self.token)
    }

    /// Sends a POST request once.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let url = format!("{}{path}", self.base);
        let request = self
            .http
            .post(url)
            .header("x-authentication", &self.token)
            .json(body);
        read(request.send().await?).await
    }

    /// Sends a GET request, repeated while the server is down.
    pub async fn get(&self, path: &str) -> Result<Value> {
        let url = format!("{}{path}", self.base);
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let request = self.http.get(&url).header("x-authentication", &self.token);
            match request.send().await {
                Ok(response) => return read(response).await,
                Err(error) if tokio::time::Instant::now() > deadline => return Err(error.into()),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Waits for the end of the job, over restarts of the server; returns the job.
    pub async fn wait(&self, job: u64) -> Result<Value> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let state = self.get(&format!("/orchestrator/v1/jobs/{job}")).await?;
            if matches!(
                state["state"].as_str(),
                Some("finished" | "failed" | "stopped")
            ) {
                return Ok(state);
            }
            if tokio::time::Instant::now() > deadline {
                bail!("job {job} does not end: {state}");
            }
            self.until_something_happens(job).await;
        }
    }

    /// The nodes of a job.
    pub async fn nodes(&self, job: u64) -> Result<Vec<Value>> {
        let nodes = self
            .get(&format!("/orchestrator/v1/jobs/{job}/nodes"))
            .await?;
        nodes["items"].as_array().cloned().context("no items")
    }

    /// The names of the nodes that are connected.
    pub async fn connected_names(&self) -> Result<Vec<String>> {
        let inventory = self.get("/orchestrator/v1/inventory").await?;
        let items = inventory["items"].as_array().context("no items")?;
        let connected = items.iter().filter(|item| item["connected"] == true);
        Ok(connected
            .filter_map(|item| item["name"].as_str().map(str::to_owned))
            .collect())
    }

    /// Waits until the inventory has this many connected nodes.
    pub async fn connected(&self, count: usize) -> Result<()> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let connected = self.connected_names().await?.len();
            if connected >= count {
                return Ok(());
            }
            if tokio::time::Instant::now() > deadline {
                bail!("only {connected} of {count} nodes are connected");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until the newest catalog of a node is one that was compiled in advance.
    pub async fn compiled_ahead(&self, node: &str) -> Result<()> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let history = self
                .get(&format!("/tutti/v1/catalogs/{node}/history"))
                .await?;
            if history["items"][0]["ahead"] == true {
                return Ok(());
            }
            if tokio::time::Instant::now() > deadline {
                bail!("no catalog of {node} was compiled in advance: {history}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Reads the job's event stream until it contains an event of this type.
    pub async fn stream_until(&self, job: u64, kind: &str) -> Result<()> {
        let url = format!("{}/orchestrator/v1/events/stream?job={job}", self.base);
        let request = self.http.get(url).header("x-authentication", &self.token);
        let mut response = request.send().await?;
        let mut text = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            text.extend_from_slice(&chunk);
            if String::from_utf8_lossy(&text).contains(kind) {
                return Ok(());
            }
        }
        bail!("the events of job {job} ended without {kind}")
    }

    /// Reads the job's event stream until it ends or breaks.
    async fn until_something_happens(&self, job: u64) {
        let url = format!("{}/orchestrator/v1/events/stream?job={job}", self.base);
        let request = self.http.get(url).header("x-authentication", &self.token);
        if let Ok(mut response) = request.send().await {
            let read = async { while let Ok(Some(_)) = response.chunk().await {} };
            // The server may be killed without its sockets being closed; then the caller queries
            // the job again.
            let _ = tokio::time::timeout(Duration::from_secs(5), read).await;
        } else {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// TLS settings that trust this CA, without a client certificate.
pub fn tls_config(ca: &Path) -> Result<rustls::ClientConfig> {
    use rustls_pki_types::pem::PemObject as _;
    let mut roots = rustls::RootCertStore::empty();
    for certificate in rustls_pki_types::CertificateDer::pem_file_iter(ca)? {
        roots.add(certificate?)?;
    }
    let tls = rustls::ClientConfig::builder_with_provider(pki::tls::provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(tls)
}

/// A client that trusts a CA.
pub(crate) fn http_client(ca: &Path) -> Result<reqwest::Client> {
    let tls = tls_config(ca)?;
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy();
    Ok(builder.connect_timeout(Duration::from_secs(10)).build()?)
}

async fn read(response: reqwest::Response) -> Result<Value> {
    let status = response.status();
    let text = response.text().await?;
    if status == StatusCode::NO_CONTENT {
        return Ok(Value::Null);
    }
    if !status.is_success() {
        bail!("HTTP {status}: {text}");
    }
    serde_json::from_str(&text).with_context(|| format!("not JSON: {text}"))
}
