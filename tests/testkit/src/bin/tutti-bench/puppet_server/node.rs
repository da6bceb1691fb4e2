//! A node that requests catalogs. Main type: [`BenchNode`].

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rustls::ClientConfig;
use serde_json::{Value, json};
use testkit::agent_requests;
use testkit::https_connection::HttpsConnection;
use testkit::installation::Installation;

use super::code::BenchEnvironment;

/// A node with its certificate, its facts and its address of the server.
#[derive(Clone)]
pub(super) struct BenchNode {
    certname: Arc<str>,
    environment: &'static str,
    facts: Arc<Value>,
    tls: Arc<ClientConfig>,
    server: SocketAddr,
}

impl BenchNode {
    pub(super) fn new(
        installation: &Installation,
        certname: &str,
        environment: &BenchEnvironment,
        port: u16,
    ) -> Result<Self> {
        let tls = installation.client_tls(certname)?;
        let mut facts = environment.facts.clone();
        facts.insert("changing".to_owned(), json!(CHANGING));
        Ok(Self {
            certname: certname.into(),
            environment: environment.name,
            facts: Arc::new(Value::Object(facts)),
            tls,
            server: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        })
    }

    pub(super) async fn connect(&self) -> Result<HttpsConnection> {
        let from = Ipv4Addr::LOCALHOST.into();
        HttpsConnection::open(self.server, from, Arc::clone(&self.tls)).await
    }

    /// The request for a catalog as agents send it, with a fact that changes.
    pub(super) fn request(&self) -> BenchRequest {
        let request = agent_requests::catalog(&self.certname, self.environment, &self.facts);
        BenchRequest {
            changing: request.find(CHANGING),
            bytes: request.into_bytes(),
        }
    }

    /// The question whether the node's catalog is current, which it gets before.
    pub(super) async fn check_request(
        &self,
        connection: &mut HttpsConnection,
    ) -> Result<BenchRequest> {
        let (certname, environment) = (&self.certname, self.environment);
        let request = agent_requests::catalog_as_text(certname, environment, &self.facts);
        connection.ask(request.as_bytes()).await?;
        let document = String::from_utf8_lossy(connection.body());
        let (_, uuid) = document
            .split_once(r#""catalog_uuid":""#)
            .context("the catalog has no id")?;
        let uuid = uuid.split('"').next().unwrap_or_default();
        let question = agent_requests::catalog_check(certname, environment, uuid);
        connection.ask(question.as_bytes()).await?;
        ensure!(
            connection.body() == br#"{"current":true}"#,
            "the catalog is not current: {}",
            String::from_utf8_lossy(connection.body())
        );
        Ok(BenchRequest {
            bytes: question.into_bytes(),
            changing: None,
        })
    }
}

/// The value of the fact that changes, which is replaced in each request by as many digits.
const CHANGING: &str = "CHANGING";

/// A request whose fact, if any, changes without another escape, since the client shares the cores.
pub(super) struct BenchRequest {
    bytes: Vec<u8>,
    /// Place of the value that changes.
    changing: Option<usize>,
}

impl BenchRequest {
    pub(super) fn with(&mut self, number: usize) -> &[u8] {
        if let Some(place) = self.changing {
            let digits = format!("{number:08}");
            self.bytes[place..place + CHANGING.len()].copy_from_slice(digits.as_bytes());
        }
        &self.bytes
    }
}
