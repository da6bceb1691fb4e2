//! Requests to the node's Puppet server with the node's own certificate: [`CatalogServer`].
//!
//! Invariant: a request ends within its timeout, and a server that does not answer as expected means that
//! Puppet itself asks it.

use error_causes::chain;
use pki::{ClientTls, TlsFiles};
use pxp::{CatalogCheck, CatalogCheckAnswer, catalog_check_path};
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;

use super::super::settings::CatalogSettings;
use super::cached_catalog::CachedCatalog;
use crate::defaults::{CATALOG_ANSWER_BYTES, CATALOG_SERVER_TIMEOUT, DOWNLOAD_CONNECT_TIMEOUT};

/// The server, over one connection.
pub(super) struct CatalogServer {
    client: Client,
    /// `https://HOST:PORT`.
    base: String,
    /// The same of the server of reports.
    report_base: String,
}

/// Reason that the server gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum CatalogServerError {
    #[error("the certificate of this node cannot be used: {0}")]
    Certificate(String),
    #[error("{url}: {problem}")]
    Request { url: String, problem: String },
    /// It is no server of Tutti, or does not compile this node's catalogs.
    #[error("{url} answers with {status}")]
    Status { url: String, status: StatusCode },
}

impl CatalogServer {
    /// The servers of the node, in the order in which Puppet asks them.
    pub(super) fn of_settings(
        settings: &CatalogSettings,
    ) -> impl Iterator<Item = Result<Self, CatalogServerError>> {
        let servers = settings.servers.iter();
        servers.map(|server| Self::new(settings, server))
    }

    fn new(settings: &CatalogSettings, server: &str) -> Result<Self, CatalogServerError> {
        let invalid = |problem: String| CatalogServerError::Certificate(problem);
        let files = TlsFiles {
            cert: settings.hostcert.clone(),
            key: settings.hostprivkey.clone(),
            ca: settings.localcacert.clone(),
            crl: Some(settings.hostcrl.clone()).filter(|path| path.exists()),
        };
        let tls = ClientTls::load(&files).map_err(|error| invalid(chain(&error)))?;
        let client = http_client::builder(tls)
            .https_only(true)
            .connect_timeout(DOWNLOAD_CONNECT_TIMEOUT.min(CATALOG_SERVER_TIMEOUT))
            .timeout(CATALOG_SERVER_TIMEOUT)
            .build()
            .map_err(|error| invalid(chain(&error)))?;
        Ok(Self {
            client,
            base: format!("https://{server}"),
            report_base: match &settings.report_server {
                Some(server) => format!("https://{server}"),
                None => format!("https://{server}"),
            },
        })
    }

    /// Asks whether a catalog is still that of this node.
    pub(super) async fn check(
        &self,
        catalog: &CachedCatalog,
    ) -> Result<CatalogCheckAnswer, CatalogServerError> {
        let url = format!("{}{}", self.base, catalog_check_path(&catalog.certname));
        let question = CatalogCheck {
            environment: catalog.environment.clone(),
            catalog_uuid: catalog.catalog_uuid.clone(),
        };
        let body = serde_json::to_vec(&question).expect("texts");
        let answer = self.send(Method::POST, &url, body).await?;
        serde_json::from_slice(&answer).map_err(|error| CatalogServerError::Request {
            url,
            problem: format!("the answer is not understood: {error}"),
        })
    }

    /// Sends the report of a run.
    pub(super) async fn send_report(
        &self,
        catalog: &CachedCatalog,
        report: &Value,
    ) -> Result<(), CatalogServerError> {
        let (certname, environment) = (&catalog.certname, &catalog.environment);
        let base = &self.report_base;
        let url = format!("{base}/puppet/v3/report/{certname}?environment={environment}");
        let body = report.to_string().into_bytes();
        self.send(Method::PUT, &url, body).await.map(drop)
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, CatalogServerError> {
        let failed = |problem: String| CatalogServerError::Request {
            url: url.to_owned(),
            problem,
        };
        let request = self.client.request(method, url).body(body);
        let request = request.header(http::header::CONTENT_TYPE, "application/json");
        let sent = request
            .header(http::header::ACCEPT, "application/json")
            .send()
            .await;
        let mut response = sent.map_err(|error| failed(chain(&error)))?;
        let status = response.status();
        if !status.is_success() {
            return Err(CatalogServerError::Status {
                url: url.to_owned(),
                status,
            });
        }
        let body = http_client::read_body(&mut response, CATALOG_ANSWER_BYTES).await;
        body.map_err(|error| failed(chain(&error)))
    }
}
