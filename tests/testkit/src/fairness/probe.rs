//! Actions of honest clients whose latency is measured: [`HonestProbe`].
//!
//! Invariant: one sample is one whole action from its user's point of view, from an address that
//! the attacker does not have; a failure closes the kept connection, and the next sample opens
//! another one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use rcgen::KeyPair;
use rustls::ClientConfig;
use serde_json::{Value, json};
use uuid::Uuid;

use super::requests::{http_request, submit_certificate_request};
use super::site::{FairnessSite, NEW_NODES, STEADY_AGENT};
use crate::client::Client;
use crate::fleet::{Fleet, FleetConfig, Identities};
use crate::https_connection::HttpsConnection;

/// The source address of honest requests over HTTPS. Simulated agents use 127.0.0.2.
const HONEST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A kind of honest action, with the state that it needs.
#[derive(Debug)]
pub enum HonestProbe {
    /// A new TLS connection with one request.
    NewConnection(HttpsProbe),
    /// A request on a kept connection.
    KeptConnection(HttpsProbe, Option<Box<HttpsConnection>>),
    /// An agent connects, and the API pings it.
    AgentConnects(VisitingAgents),
    /// The API pings an agent that stays connected.
    AgentPing(Client),
    /// A task on one agent, from the request to the stored result of 2 MiB.
    LargeResult(Client),
    /// A login with the right password, over a kept connection.
    Login(HttpsProbe, Option<Box<HttpsConnection>>),
    /// A new node sends a certificate request and fetches its certificate.
    NewNode(HttpsProbe, Box<KeyPair>),
}

/// The server and text of a request.
#[derive(Clone, Debug)]
pub struct HttpsProbe {
    what: &'static str,
    server: SocketAddr,
    tls: Arc<ClientConfig>,
    request: Arc<str>,
}

/// Agents that connect in turn.
#[derive(Debug)]
pub struct VisitingAgents {
    config: FleetConfig,
    identities: Arc<Identities>,
    next: usize,
    client: Client,
}

// === impl HonestProbe ===

impl HonestProbe {
    /// A small API request on new connections.
    pub(super) fn api_on_new_connection(site: &FairnessSite) -> Self {
        Self::NewConnection(HttpsProbe::api_with_token(site))
    }

    /// A small API request on a kept connection.
    pub(super) fn api_on_kept_connection(site: &FairnessSite) -> Self {
        Self::KeptConnection(HttpsProbe::api_with_token(site), None)
    }

    /// A small API request of a program with a certificate and no token, on a kept connection.
    pub(super) fn api_by_certificate(site: &FairnessSite) -> Self {
        let probe = HttpsProbe {
            what: "API request by certificate",
            server: site.api(),
            tls: Arc::clone(&site.program_tls),
            request: http_request("GET", "/orchestrator/v1", &[], "").into(),
        };
        Self::KeptConnection(probe, None)
    }

    /// A request for the CA's certificate on new connections to the port of agents and new nodes.
    pub(super) fn ca_on_new_connection(site: &FairnessSite) -> Self {
        Self::NewConnection(HttpsProbe::ca(site))
    }

    /// A request for the CA's certificate on a kept connection.
    pub(super) fn ca_on_kept_connection(site: &FairnessSite) -> Self {
        Self::KeptConnection(HttpsProbe::ca(site), None)
    }

    /// A new agent that connects and is pinged.
    pub(super) fn agent_connects(site: &FairnessSite) -> Self {
        Self::AgentConnects(VisitingAgents {
            config: FleetConfig {
                reconnect: false,
                ..FleetConfig::new(&site.installation)
            },
            identities: Arc::clone(&site.visitors),
            next: 0,
            client: site.client.clone(),
        })
    }

    /// A ping of the steady agent.
    pub(super) fn agent_ping(site: &FairnessSite) -> Self {
        Self::AgentPing(site.client.clone())
    }

    /// A task with a large result.
    pub(super) fn large_result(site: &FairnessSite) -> Self {
        Self::LargeResult(site.client.clone())
    }

    /// A login as the first administrator.
    pub(super) fn login(site: &FairnessSite) -> Result<Self> {
        let password = site.installation.data_dir().join("admin-password");
        let password = std::fs::read_to_string(password)?;
        let body = json!({"login": "admin", "password": password.trim()}).to_string();
        let headers = [("Content-Type", "application/json")];
        let probe = HttpsProbe {
            what: "login with the right password",
            server: site.api(),
            tls: Arc::clone(&site.anonymous_tls),
            request: http_request("POST", "/rbac-api/v1/auth/token", &headers, &body).into(),
        };
        Ok(Self::Login(probe, None))
    }

    /// A new node that gets its first certificate.
    pub(super) fn new_node(site: &FairnessSite) -> Result<Self> {
        let probe = HttpsProbe {
            what: "new node: certificate request and certificate, new connection",
            ..HttpsProbe::ca(site)
        };
        Ok(Self::NewNode(probe, Box::new(KeyPair::generate()?)))
    }

    /// Description of the action.
    pub fn what(&self) -> String {
        match self {
            Self::NewConnection(probe) => format!("{}, new connection", probe.what),
            Self::KeptConnection(probe, _) => format!("{}, kept connection", probe.what),
            Self::Login(probe, _) | Self::NewNode(probe, _) => probe.what.to_owned(),
            Self::AgentConnects(_) => "agent: connection and ping".to_owned(),
            Self::AgentPing(_) => "ping of a connected agent".to_owned(),
            Self::LargeResult(_) => "task with a result of 2 MiB".to_owned(),
        }
    }

    /// Performs the action once.
    pub async fn sample(&mut self) -> Result<()> {
        match self {
            Self::NewConnection(probe) => probe.on_new_connection().await,
            Self::KeptConnection(probe, kept) | Self::Login(probe, kept) => {
                probe.on_kept_connection(kept).await
            }
            Self::AgentConnects(agents) => agents.connect().await,
            Self::AgentPing(client) => ping(client, STEADY_AGENT).await,
            Self::LargeResult(client) => {
                let job = client.run_task("noop", &[STEADY_AGENT], json!({})).await?;
                client.stream_until(job, "node_finished").await
            }
            Self::NewNode(probe, key) => probe.as_new_node(key).await,
        }
    }
}

// === impl HttpsProbe ===

impl HttpsProbe {
    fn api_with_token(site: &FairnessSite) -> Self {
        let headers = [("X-Authentication", site.client.token())];
        Self {
            what: "API request with a token",
            server: site.api(),
            tls: Arc::clone(&site.anonymous_tls),
            request: http_request("GET", "/orchestrator/v1", &headers, "").into(),
        }
    }

    fn ca(site: &FairnessSite) -> Self {
        Self {
            what: "CA certificate",
            server: site.puppet_api(),
            tls: Arc::clone(&site.anonymous_tls),
            request: http_request("GET", "/puppet-ca/v1/certificate/ca", &[], "").into(),
        }
    }

    async fn open(&self) -> Result<HttpsConnection> {
        HttpsConnection::open(self.server, HONEST, Arc::clone(&self.tls)).await
    }

    async fn on_new_connection(&self) -> Result<()> {
        self.open().await?.ask(self.request.as_bytes()).await
    }

    async fn on_kept_connection(&self, kept: &mut Option<Box<HttpsConnection>>) -> Result<()> {
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => Box::new(self.open().await?),
        };
        connection.ask(self.request.as_bytes()).await?;
        *kept = Some(connection);
        Ok(())
    }

    async fn as_new_node(&self, key: &KeyPair) -> Result<()> {
        let certname = format!("node-{}.{NEW_NODES}", Uuid::new_v4());
        let submit = submit_certificate_request(&certname, key)?;
        let path = format!("/puppet-ca/v1/certificate/{certname}");
        let fetch = http_request("GET", &path, &[], "");
        let mut connection = self.open().await?;
        connection.ask(submit.as_bytes()).await?;
        connection.ask(fetch.as_bytes()).await
    }
}

// === impl VisitingAgents ===

impl VisitingAgents {
    async fn connect(&mut self) -> Result<()> {
        let identity = self.identities.only(self.next % self.identities.len());
        self.next += 1;
        let fleet = Fleet::start(self.config.clone(), &identity);
        let certname = fleet.certnames()[0].to_string();
        fleet.all_connected().await;
        let pinged = ping(&self.client, &certname).await;
        fleet.stop().await;
        pinged
    }
}

async fn ping(client: &Client, certname: &str) -> Result<()> {
    let body = json!({"nodes": [certname]});
    let reply = client.post("/orchestrator/v1/command/ping", &body).await?;
    let item = reply["items"].get(0).context("no answer to a ping")?;
    anyhow::ensure!(item["replied"] == Value::Bool(true), "{item}");
    Ok(())
}
