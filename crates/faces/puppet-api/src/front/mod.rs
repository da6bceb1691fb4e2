//! A puppetserver behind this server: [`PuppetserverFront`].
//!
//! Agents have this server as theirs. The requests of nodes whose catalogs the puppetserver compiles are
//! passed to it, and those for what this server does not have:
//!
//! | request | passed to the puppetserver |
//! |---|---|
//! | catalog | if the node's compiler is the puppetserver (module [`agent`](crate::agent)) |
//! | node, bucket, environments; files of modules, tasks | if the node's compiler is the puppetserver; files also if the environment is unknown here |
//! | facts, reports | if the node's compiler is the puppetserver; recorded here too (module [`submissions`](crate::submissions)) |
//! | other routes below `/puppet/v3/` and `/puppet/v4/` | always |
//! | `/puppet-ca/v1/…` | if this server has no CA |
//!
//! Invariants:
//! - The puppetserver learns the client from headers that are made of the verified certificate of the
//!   connection. Those of a request never reach it.
//! - It decides itself what a client may do, by its `auth.conf`; nothing is passed if it ignores these headers.
//! - Bodies are streamed; requests at once, and the time in which nothing is received, are bounded.

mod forward;
mod header_trust;
mod middleware;
mod outgoing;

use std::sync::Arc;

use catalogs::{CatalogCompiler, Catalogs};
use environments::{CodeReader, EnvironmentName};
use error_causes::chain;
use http_client::ClientHeaders;
use pcp::Certname;
use pki::{ClientTls, LoadError, TlsFiles};
use reqwest::Url;

use self::header_trust::HeaderTrust;
use crate::defaults::{
    FRONT_CONNECT_TIMEOUT, FRONT_IDLE_CONNECTION, FRONT_READ_TIMEOUT, FRONT_REQUESTS,
    FRONT_REQUESTS_OF_NODE,
};
use crate::node_shares::NodeShares;
use crate::peer::PuppetApiCaller;

pub(crate) use middleware::{FrontRoutes, pass};
pub(crate) use outgoing::{OutgoingBody, OutgoingHead};

/// The environment of a request that names none, as Puppet's agents have it.
const DEFAULT_ENVIRONMENT: &str = "production";

/// The puppetserver that has a part of the nodes. Clones share everything.
#[derive(Debug, Clone)]
pub struct PuppetserverFront {
    inner: Arc<FrontState>,
}

#[derive(Debug)]
struct FrontState {
    url: Url,
    http: reqwest::Client,
    catalogs: Catalogs,
    code: Arc<dyn CodeReader>,
    /// Requests at once, of each client and of all.
    turns: NodeShares,
    trust: HeaderTrust,
}

/// Reason that a puppetserver cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PuppetserverFrontError {
    /// The certificate files cannot be used.
    #[error("cannot use the certificate for {url}")]
    Certificate {
        /// The puppetserver.
        url: String,
        /// The file and its defect.
        #[source]
        source: Box<LoadError>,
    },
    /// The HTTP client cannot be built.
    #[error("cannot make connections to {url}: {cause}")]
    Client {
        /// The puppetserver.
        url: String,
        /// The error of the client.
        cause: String,
    },
}

impl PuppetserverFront {
    /// Creates the front of the puppetserver at `url`, for example `https://localhost:8141`, which is
    /// connected with the certificate of `tls`. `catalogs` chooses the compilers of nodes.
    ///
    /// # Errors
    /// The files of `tls` cannot be used.
    pub fn new(
        url: Url,
        tls: &TlsFiles,
        catalogs: Catalogs,
        code: Arc<dyn CodeReader>,
    ) -> Result<Self, PuppetserverFrontError> {
        let config = ClientTls::load(tls);
        let config = config.map_err(|source| PuppetserverFrontError::Certificate {
            url: url.to_string(),
            source: Box::new(source),
        })?;
        let http = http_client::builder(config)
            .connect_timeout(FRONT_CONNECT_TIMEOUT)
            .read_timeout(FRONT_READ_TIMEOUT)
            .pool_idle_timeout(FRONT_IDLE_CONNECTION)
            .build();
        let http = http.map_err(|error| PuppetserverFrontError::Client {
            url: url.to_string(),
            cause: chain(&error),
        })?;
        Ok(Self {
            inner: Arc::new(FrontState {
                url,
                http,
                catalogs,
                code,
                trust: HeaderTrust::default(),
                turns: NodeShares::new(FRONT_REQUESTS_OF_NODE).with_total(FRONT_REQUESTS),
            }),
        })
    }

    /// True if the puppetserver compiles the catalogs of the caller in an environment; `None` stands for
    /// the default one.
    pub(crate) async fn compiles_for(
        &self,
        caller: &PuppetApiCaller,
        environment: Option<&EnvironmentName>,
    ) -> bool {
        let certname = caller.certname().map(str::parse::<Certname>);
        let (Some(Ok(certname)), Ok(default)) = (certname, DEFAULT_ENVIRONMENT.parse()) else {
            return false;
        };
        let environment = environment.unwrap_or(&default);
        let catalogs = &self.inner.catalogs;
        let choosing = catalogs.compiler_of_certname(&certname, environment);
        let chosen = choosing.await;
        chosen.compiler == CatalogCompiler::Puppetserver
    }

    /// True if this server has code of the environment.
    async fn has_environment(&self, environment: &EnvironmentName) -> bool {
        let (code, name) = (Arc::clone(&self.inner.code), environment.clone());
        let looking = tokio::task::spawn_blocking(move || code.version(&name));
        // another error is reported by the route itself
        !matches!(looking.await, Ok(Err(error)) if error.is_not_found())
    }

    /// The headers that name the caller.
    fn headers_of(caller: &PuppetApiCaller) -> ClientHeaders {
        match &caller.certificate.0 {
            Some(peer) => ClientHeaders::verified(&peer.certname, &peer.der),
            None => ClientHeaders::unverified(),
        }
    }
}
