//! Catalogs that a puppetserver compiles, for comparison with those compiled here:
//! [`PuppetserverCatalogs`].
//!
//! `POST /puppet/v3/catalog/NODE`, as agents send it. The server's `auth.conf` allows a node only its
//! own catalog, unless a rule names the client certificate.
//!
//! Invariant: requests are bounded in time and size, and an error of the compilation is not an error
//! of the request.

use std::error::Error;

use error_causes::chain;
use http_client::{ClientHeaders, excerpt, read_body};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pki::{ClientTls, TlsFiles};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{StatusCode, Url};
use serde_json::{Value as Json, json};

use crate::defaults::{
    ANSWER_EXCERPT, CATALOG_BYTES_MAX, CATALOG_CONNECT_TIMEOUT, CATALOG_TIMEOUT,
};

/// A client of one puppetserver that asks for catalogs.
#[derive(Debug)]
pub struct PuppetserverCatalogs {
    url: Url,
    http: reqwest::Client,
    certname: String,
}

/// Result of a compilation: the catalog document, or the message of the error.
pub type CatalogOutcome = Result<Json, String>;

/// A node whose catalog is requested.
#[derive(Debug, Clone)]
pub struct CatalogQuestion {
    pub certname: String,
    pub environment: String,
    /// Facts of the node by their names, as an agent sends them.
    pub facts: Json,
}

/// Reason that a puppetserver gave no catalog and no error of a compilation.
#[derive(Debug, thiserror::Error)]
pub enum CatalogRequestError {
    #[error("cannot use the certificate for {url}: {cause}")]
    Certificate { url: String, cause: String },
    #[error("cannot reach {url}: {cause}; is the puppetserver running there?")]
    Unreachable { url: String, cause: String },
    #[error(
        "{url} refuses the certificate {certname}; auth.conf of the puppetserver needs a rule that allows \
         it POST on ^/puppet/v3/catalog/"
    )]
    Refused { url: String, certname: String },
    #[error("{url} answers HTTP {status}: {body}")]
    Unexpected {
        url: String,
        status: u16,
        body: String,
    },
}

impl PuppetserverCatalogs {
    /// Creates a client for `url`, for example `https://puppet.example.com:8140`.
    ///
    /// # Errors
    /// The files of `tls` cannot be used.
    pub fn new(url: Url, tls: &TlsFiles) -> Result<Self, CatalogRequestError> {
        Self::with_headers(url, tls, HeaderMap::new())
    }

    /// The same for a puppetserver that is behind this server, and learns its clients from headers.
    ///
    /// # Errors
    /// The files of `tls` cannot be used.
    pub fn behind(url: Url, tls: &TlsFiles) -> Result<Self, CatalogRequestError> {
        let headers = ClientHeaders::own(tls);
        let headers = headers.map_err(|error| CatalogRequestError::Certificate {
            url: url.to_string(),
            cause: chain(&error),
        })?;
        Self::with_headers(url, tls, headers.into_headers())
    }

    fn with_headers(
        url: Url,
        tls: &TlsFiles,
        headers: HeaderMap,
    ) -> Result<Self, CatalogRequestError> {
        let failure = |cause: &(dyn Error + 'static)| CatalogRequestError::Certificate {
            url: url.to_string(),
            cause: chain(cause),
        };
        let names = tls.own_names().map_err(|error| failure(&error))?;
        let config = ClientTls::load(tls).map_err(|error| failure(&error))?;
        let http = http_client::builder(config)
            .connect_timeout(CATALOG_CONNECT_TIMEOUT)
            .timeout(CATALOG_TIMEOUT)
            .default_headers(headers)
            .build()
            .map_err(|error| failure(&error))?;
        Ok(Self {
            url,
            http,
            certname: names.into_iter().next().unwrap_or_default(),
        })
    }

    /// Certname of the client certificate, which is `$trusted['certname']` of every catalog that this
    /// client gets.
    #[must_use]
    pub fn certname(&self) -> &str {
        &self.certname
    }

    /// Asks for the catalog of a node.
    ///
    /// # Errors
    /// The server cannot be reached, refuses the certificate, or answers something else.
    pub async fn catalog(
        &self,
        question: &CatalogQuestion,
    ) -> Result<CatalogOutcome, CatalogRequestError> {
        let url = self.catalog_url(question);
        let unreachable = |cause: &(dyn Error + 'static)| CatalogRequestError::Unreachable {
            url: self.url.to_string(),
            cause: chain(cause),
        };
        let request = self.http.post(url).body(request_form(question));
        let request = request
            .header(ACCEPT, "application/vnd.puppet.rich+json, application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let response = request.send().await;
        let mut response = response.map_err(|error| unreachable(&error.without_url()))?;
        let status = response.status();
        let body = read_body(&mut response, CATALOG_BYTES_MAX).await;
        let body = body.map_err(|error| unreachable(&error))?;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(CatalogRequestError::Refused {
                url: self.url.to_string(),
                certname: self.certname.clone(),
            }),
            _ => read_outcome(status, &body).ok_or_else(|| CatalogRequestError::Unexpected {
                url: self.url.to_string(),
                status: status.as_u16(),
                body: excerpt(&body, ANSWER_EXCERPT),
            }),
        }
    }

    fn catalog_url(&self, question: &CatalogQuestion) -> Url {
        let mut url = self.url.clone();
        let certname = utf8_percent_encode(&question.certname, NON_ALPHANUMERIC);
        url.set_path(&format!("/puppet/v3/catalog/{certname}"));
        url.query_pairs_mut()
            .append_pair("environment", &question.environment);
        url
    }
}

/// The form of an agent's request. The facts are escaped twice, as agents send them.
fn request_form(question: &CatalogQuestion) -> String {
    let facts = json!({"name": question.certname, "values": question.facts}).to_string();
    let facts = utf8_percent_encode(&facts, NON_ALPHANUMERIC).to_string();
    format!(
        "environment={}&facts_format=application%2Fjson&facts={}&static_catalog=false&transaction_uuid={}",
        utf8_percent_encode(&question.environment, NON_ALPHANUMERIC),
        utf8_percent_encode(&facts, NON_ALPHANUMERIC),
        uuid::Uuid::new_v4(),
    )
}

/// The catalog or the error of the compilation; `None` if the response is neither.
fn read_outcome(status: StatusCode, body: &[u8]) -> Option<CatalogOutcome> {
    let document: Json = serde_json::from_slice(body).ok()?;
    if status.is_success() {
        return document["resources"].is_array().then_some(Ok(document));
    }
    // Other failures of the server have no `issue_kind` of the compiler.
    let message = document["message"].as_str()?;
    let is_compiler = status == StatusCode::INTERNAL_SERVER_ERROR
        && document["issue_kind"] == json!("RUNTIME_ERROR");
    let message = message.strip_prefix("Server Error: ").unwrap_or(message);
    is_compiler.then(|| Err(message.to_owned()))
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;
    use serde_json::json;

    use super::{CatalogQuestion, read_outcome, request_form};

    #[test]
    fn facts_are_escaped_twice() {
        let question = CatalogQuestion {
            certname: "a.b".to_owned(),
            environment: "test".to_owned(),
            facts: json!({}),
        };
        let form = request_form(&question);
        assert!(form.starts_with(
            "environment=test&facts_format=application%2Fjson&facts=%257B%2522name%2522%253A%2522a%252Eb"
        ));
    }

    #[test]
    fn errors_of_compilations_are_outcomes() {
        let body =
            br#"{"message": "Server Error: Evaluation Error: x", "issue_kind": "RUNTIME_ERROR"}"#;
        let outcome = read_outcome(StatusCode::INTERNAL_SERVER_ERROR, body);
        assert_eq!(outcome, Some(Err("Evaluation Error: x".to_owned())));
        let unknown =
            br#"{"message": "Could not find environment 'x'", "issue_kind": "RUNTIME_ERROR"}"#;
        assert_eq!(read_outcome(StatusCode::NOT_FOUND, unknown), None);
        assert_eq!(read_outcome(StatusCode::OK, b"<html>"), None);
        assert_eq!(read_outcome(StatusCode::OK, b"{}"), None);
        assert!(matches!(
            read_outcome(StatusCode::OK, br#"{"resources": []}"#),
            Some(Ok(_))
        ));
    }
}
