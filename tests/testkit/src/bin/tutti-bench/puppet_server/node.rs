//! A node that requests catalogs. Main type: [`BenchNode`].

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Result;
use pki::{ClientTls, TlsFiles};
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
        let (cert, key) = installation.certificate(certname)?;
        let tls = ClientTls::load(&TlsFiles {
            cert,
            key,
            ca: installation.ca_dir().join("ca_crt.pem"),
            crl: None,
        })?;
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

    /// The request as agents send it, with a fact that changes.
    pub(super) fn request(&self) -> ChangingRequest {
        let request = agent_requests::catalog(&self.certname, self.environment, &self.facts);
        let place = request.find(CHANGING).unwrap_or_default();
        ChangingRequest {
            bytes: request.into_bytes(),
            place,
        }
    }
}

/// The value of the fact that changes, which is replaced in each request by as many digits.
const CHANGING: &str = "CHANGING";

/// A request whose fact changes without another escape, since the client shares the cores.
pub(super) struct ChangingRequest {
    bytes: Vec<u8>,
    place: usize,
}

impl ChangingRequest {
    pub(super) fn with(&mut self, number: usize) -> &[u8] {
        let digits = format!("{number:08}");
        self.bytes[self.place..self.place + CHANGING.len()].copy_from_slice(digits.as_bytes());
        &self.bytes
    }
}
