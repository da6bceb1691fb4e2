//! Reads classes from a puppetserver: [`PuppetserverClasses`].
//!
//! `GET /puppet/v3/environments` and `environment_classes`, with a client certificate; the second
//! needs a rule in the server's `auth.conf`. Invariants: responses are bounded in time and size;
//! certificate files are read again for each request, which is rare; and a manifest that cannot be
//! parsed loses only its own classes.

use error_causes::chain;
use std::error::Error;

use async_trait::async_trait;
use http_client::{ClientHeaders, excerpt};
use pki::{ClientTls, TlsFiles};
use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

use super::source::{ClassSource, ClassSourceError, PuppetClass};
use crate::defaults::{CLASSES_BYTES, CLASSES_CONNECT, CLASSES_TIMEOUT, SHOWN_BYTES};

/// A client of a puppetserver, used as a source of classes.
#[derive(Debug)]
pub struct PuppetserverClasses {
    url: Url,
    tls: TlsFiles,
    /// True if the puppetserver learns its clients from headers.
    is_behind: bool,
}

#[derive(Deserialize)]
struct EnvironmentsResponse {
    environments: Map<String, Value>,
}

#[derive(Deserialize)]
struct EnvironmentClasses {
    files: Vec<ManifestResponse>,
}

#[derive(Deserialize)]
struct ManifestResponse {
    path: String,
    #[serde(default)]
    classes: Vec<ClassResponse>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ClassResponse {
    name: String,
    #[serde(default)]
    params: Vec<ParameterResponse>,
}

/// `default_literal` is present, and may be null, if the default is plain data.
#[derive(Deserialize)]
struct ParameterResponse {
    name: String,
    #[serde(flatten)]
    told: Map<String, Value>,
}

impl PuppetserverClasses {
    /// Creates a client for `url`, for example `https://puppet.example:8140`, with the certificate
    /// of `tls`.
    pub fn new(url: Url, tls: TlsFiles) -> Self {
        Self {
            url,
            tls,
            is_behind: false,
        }
    }

    /// The same for a puppetserver that is behind this server, and learns its clients from headers.
    #[must_use]
    pub fn behind(self) -> Self {
        Self {
            is_behind: true,
            ..self
        }
    }

    /// The base URL of the puppetserver.
    pub fn url(&self) -> &Url {
        &self.url
    }

    async fn request<T: DeserializeOwned>(
        &self,
        path: &str,
        environment: Option<&str>,
    ) -> Result<T, ClassSourceError> {
        let mut url = self.url.clone();
        url.set_path(path);
        if let Some(name) = environment {
            url.query_pairs_mut().append_pair("environment", name);
        }
        let unreachable = |cause: &(dyn Error + 'static)| ClassSourceError::Unreachable {
            url: url.to_string(),
            cause: chain(cause),
        };
        let (tls, is_behind) = (self.tls.clone(), self.is_behind);
        let http = tokio::task::spawn_blocking(move || client(&tls, is_behind)).await;
        let http = http.map_err(|error| unreachable(&error))?;
        let http = http.map_err(|cause| ClassSourceError::Unreachable {
            url: url.to_string(),
            cause,
        })?;
        let answer = http.get(url.clone()).send().await;
        let mut answer = answer.map_err(|error| unreachable(&error.without_url()))?;
        let status = answer.status();
        if let (StatusCode::NOT_FOUND, Some(name)) = (status, environment) {
            return Err(ClassSourceError::UnknownEnvironment(name.to_owned()));
        }
        let unexpected = |body| ClassSourceError::Unexpected {
            url: url.to_string(),
            status: status.as_u16(),
            body,
        };
        let body = http_client::read_body(&mut answer, CLASSES_BYTES).await;
        let body = body.map_err(|error| unreachable(&error))?;
        if status != StatusCode::OK {
            return Err(unexpected(excerpt(&body, SHOWN_BYTES)));
        }
        decode_errors::json::from_slice(&body).map_err(|error| {
            let begin = excerpt(&body, SHOWN_BYTES);
            unexpected(format!("{error}: {begin}"))
        })
    }
}

#[async_trait]
impl ClassSource for PuppetserverClasses {
    async fn environments(&self) -> Result<Vec<String>, ClassSourceError> {
        let told: EnvironmentsResponse = self.request("/puppet/v3/environments", None).await?;
        Ok(told
            .environments
            .into_iter()
            .map(|(name, _)| name)
            .collect())
    }

    async fn classes(&self, environment: &str) -> Result<Vec<PuppetClass>, ClassSourceError> {
        let path = "/puppet/v3/environment_classes";
        let told: EnvironmentClasses = self.request(path, Some(environment)).await?;
        let mut classes = Vec::new();
        for manifest in told.files {
            if manifest.error.is_some() {
                let path = manifest.path;
                tracing::warn!(
                    environment,
                    path,
                    "a manifest cannot be parsed; its classes are not known"
                );
            }
            classes.extend(manifest.classes.into_iter().map(PuppetClass::from));
        }
        Ok(classes)
    }
}

impl From<ClassResponse> for PuppetClass {
    fn from(told: ClassResponse) -> Self {
        let value = |ParameterResponse { name, mut told }: ParameterResponse| {
            let value = told.remove("default_literal");
            let value = value.or_else(|| told.remove("default_source"));
            (name, value.unwrap_or(Value::Null))
        };
        Self {
            name: told.name,
            parameters: told.params.into_iter().map(value).collect(),
        }
    }
}

fn client(tls: &TlsFiles, is_behind: bool) -> Result<reqwest::Client, String> {
    let headers = match is_behind {
        true => ClientHeaders::own(tls)
            .map_err(|error| chain(&error))?
            .into_headers(),
        false => HeaderMap::new(),
    };
    let tls = ClientTls::load(tls).map_err(|error| chain(&error))?;
    let builder = http_client::builder(tls)
        .default_headers(headers)
        .connect_timeout(CLASSES_CONNECT)
        .timeout(CLASSES_TIMEOUT);
    builder.build().map_err(|error| chain(&error))
}
