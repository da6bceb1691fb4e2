//! A node of the fleet and the requests of its runs. Main type: [`FleetNode`].

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, ensure};
use rustls::ClientConfig;
use serde_json::{Map, Value, json};
use testkit::agent_requests;
use testkit::https_connection::HttpsConnection;
use testkit::installation::Installation;

const ENVIRONMENT: &str = "production";

/// Facts of a node: as many, with as many bytes, as Facter reports on a small machine.
const FACTS: usize = 100;
const FACT_BYTES: usize = 200;

/// The requests of an agent for plugins: whether the environment exists, and both lists.
const PLUGINS: [&str; 3] = [
    "/puppet/v3/file_metadatas/plugins?recurse=false&links=manage&checksum_type=sha256&source_permissions=ignore\
     &environment=production",
    "/puppet/v3/file_metadatas/pluginfacts?recurse=true&max_files=-1&ignore=.svn&ignore=CVS&ignore=.git&ignore=.hg\
     &links=follow&checksum_type=sha256&source_permissions=use&environment=production",
    "/puppet/v3/file_metadatas/plugins?recurse=true&max_files=-1&ignore=.svn&ignore=CVS&ignore=.git&ignore=.hg\
     &links=follow&checksum_type=sha256&source_permissions=ignore&environment=production",
];

/// The program that runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum RunKind {
    /// Puppet, with the five requests of an unchanged run.
    Puppet,
    /// The agent alone, which asks whether the catalog is current, and reports.
    Direct,
}

impl RunKind {
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Puppet => "unchanged runs of Puppet in a fleet",
            Self::Direct => "unchanged runs of the agent alone in a fleet",
        }
    }
}

/// A node with its certificate. Clones share everything.
#[derive(Clone)]
pub(super) struct FleetNode {
    inner: Arc<FleetNodeInner>,
}

struct FleetNodeInner {
    certname: String,
    tls: Arc<ClientConfig>,
    server: SocketAddr,
    /// Id of the node's catalog.
    catalog_uuid: OnceLock<String>,
}

impl FleetNode {
    pub(super) fn new(installation: &Installation, number: usize) -> Result<Self> {
        let certname = format!("node{number}.test");
        let tls = installation.client_tls(&certname)?;
        Ok(Self {
            inner: Arc::new(FleetNodeInner {
                certname,
                tls,
                server: SocketAddr::from((Ipv4Addr::LOCALHOST, installation.puppet_api_port())),
                catalog_uuid: OnceLock::new(),
            }),
        })
    }

    pub(super) async fn first_catalog(&self) -> Result<()> {
        let mut connection = self.connect().await?;
        let facts = facts("first");
        let request = agent_requests::catalog_as_text(&self.inner.certname, ENVIRONMENT, &facts);
        connection.ask(request.as_bytes()).await?;
        let document = String::from_utf8_lossy(connection.body());
        let (_, uuid) = document
            .split_once(r#""catalog_uuid":""#)
            .context("the catalog has no id")?;
        let uuid = uuid.split('"').next().unwrap_or_default().to_owned();
        let _ = self.inner.catalog_uuid.set(uuid);
        Ok(())
    }

    /// The requests of an unchanged run.
    pub(super) async fn run(&self, kind: RunKind) -> Result<()> {
        let mut connection = self.connect().await?;
        let certname = &self.inner.certname;
        let uuid = self.inner.catalog_uuid.get();
        let uuid = uuid.context("the node has no catalog")?;
        match kind {
            RunKind::Puppet => {
                for path in PLUGINS {
                    connection.ask(agent_requests::get(path).as_bytes()).await?;
                }
                let facts = facts("later");
                let request = agent_requests::catalog(certname, ENVIRONMENT, &facts);
                connection.ask(request.as_bytes()).await?;
            }
            RunKind::Direct => {
                let question = agent_requests::catalog_check(certname, ENVIRONMENT, uuid);
                connection.ask(question.as_bytes()).await?;
                let is_current = connection.body() == br#"{"current":true}"#;
                ensure!(is_current, "the catalog of {certname} is not current");
            }
        }
        let report = agent_requests::unchanged_report(certname, ENVIRONMENT, uuid);
        connection.ask(report.as_bytes()).await
    }

    async fn connect(&self) -> Result<HttpsConnection> {
        let from = IpAddr::from(Ipv4Addr::LOCALHOST);
        HttpsConnection::open(self.inner.server, from, Arc::clone(&self.inner.tls)).await
    }
}

/// Facts with one that changes.
fn facts(changing: &str) -> Value {
    let facts = (0..FACTS).map(|number| (format!("fact_{number}"), json!("x".repeat(FACT_BYTES))));
    let mut facts: Map<String, Value> = facts.collect();
    facts.insert("changing".to_owned(), json!(changing));
    Value::Object(facts)
}
