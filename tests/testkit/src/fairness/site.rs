//! The server under attack with its honest clients: [`FairnessSite`].
//!
//! Invariant: every scenario has a server of its own, so that no attack is affected by an earlier
//! one.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use rustls::ClientConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;

use crate::client::{Client, tls_config};
use crate::fleet::{Fleet, FleetConfig, Identities, KeyKind};
use crate::installation::{Installation, Programs};
use crate::service::Service;

/// Certname of a program with rights at the API.
const PROGRAM: &str = "program.test";

/// Certname of the agent that stays connected.
pub(super) const STEADY_AGENT: &str = "steady-00000";

/// Suffix of the certnames of new nodes, which are signed automatically.
pub(super) const NEW_NODES: &str = "new.test";

const SETTINGS: &str = "[access]\ncertificate_allowlist = [\"program.test\"]\n\n\
                        [ca]\nautosign = [\"*.new.test\"]\n";

/// Size in bytes of the output of every action of the steady agent.
const OUTPUT_BYTES: usize = 2 << 20;

/// Number of agents that connect in turn; each connects again only after all the others.
const VISITORS: usize = 64;

/// An installation with a running server.
#[derive(Debug)]
pub struct FairnessSite {
    pub(super) installation: Installation,
    pub(super) server: Service,
    pub(super) client: Client,
    /// TLS settings of a client without a certificate.
    pub(super) anonymous_tls: Arc<ClientConfig>,
    /// TLS settings of a program with rights.
    pub(super) program_tls: Arc<ClientConfig>,
    /// TLS settings of the node whose certificate the attacker has.
    pub(super) lost_node_tls: Arc<ClientConfig>,
    pub(super) visitors: Arc<Identities>,
    steady: Fleet,
}

// === impl FairnessSite ===

impl FairnessSite {
    /// Starts the server, logs in, and connects the steady agent.
    pub async fn start(programs: &Programs) -> Result<Self> {
        let installation = Installation::new(programs.clone(), SETTINGS)?;
        let metadata = json!({"input_method": "environment"});
        installation.add_task("noop", "init.sh", &metadata, "#!/bin/sh\n")?;
        let server = installation.server().start().await?;
        let client = Client::login(&installation).await?;
        let ca_dir = installation.ca_dir();
        let issue = |prefix, count| Identities::issue(&ca_dir, prefix, count, KeyKind::Ec);
        let config = FleetConfig {
            output: "x".repeat(OUTPUT_BYTES).into(),
            ..FleetConfig::new(&installation)
        };
        let steady = Fleet::start(config, &issue("steady", 1)?);
        steady.all_connected().await;
        client.connected(1).await?;
        let (cert, key) = installation.client_certificate(PROGRAM)?;
        let anonymous_tls = tls_config(&ca_dir.join("ca_crt.pem"))?;
        Ok(Self {
            program_tls: Arc::new(with_certificate(&ca_dir.join("ca_crt.pem"), &cert, &key)?),
            anonymous_tls: Arc::new(anonymous_tls),
            lost_node_tls: issue("lost", 1)?.tls(0),
            visitors: Arc::new(issue("visitor", VISITORS)?),
            installation,
            server,
            client,
            steady,
        })
    }

    /// Stops agent and server.
    pub async fn stop(self) -> Result<()> {
        self.steady.stop().await;
        self.server.stop().await?;
        Ok(())
    }

    pub(super) fn api(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.installation.api_port()).into()
    }

    pub(super) fn broker(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.installation.broker_port()).into()
    }

    pub(super) fn puppet_api(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.installation.puppet_api_port()).into()
    }
}

/// TLS settings that trust this CA, with a client certificate.
fn with_certificate(ca: &Path, cert: &Path, key: &Path) -> Result<ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca)? {
        roots.add(certificate?)?;
    }
    let chain = CertificateDer::pem_file_iter(cert)?.collect::<Result<_, _>>()?;
    let tls = ClientConfig::builder_with_provider(pki::tls::provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    Ok(tls)
}
