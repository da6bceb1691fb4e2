//! The absolute URLs of objects, which are their ids.

use api_types::{ApiError, JobRef, Link, NamedLink};
use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use store::JobNumber;

use crate::SharedApiContext;
use crate::failure::ApiFailure;

/// `https://HOST:8143`: the host of the request, or the configured URL.
#[derive(Clone, Debug)]
pub(crate) struct BaseUrl(String);

impl FromRequestParts<SharedApiContext> for BaseUrl {
    type Rejection = ApiFailure;

    async fn from_request_parts(
        parts: &mut Parts,
        api: &SharedApiContext,
    ) -> Result<Self, ApiFailure> {
        if let Some(base) = &api.info.base_url {
            return Ok(Self(base.trim_end_matches('/').to_owned()));
        }
        let Some(host) = parts.headers.get(header::HOST) else {
            return Ok(Self("https://localhost".to_owned()));
        };
        // It is part of responses, so only valid hosts and ports are used.
        let authority = host
            .to_str()
            .ok()
            .and_then(|host| host.parse::<Authority>().ok());
        let plain = authority.filter(|authority| !authority.as_str().contains('@'));
        let authority = plain.ok_or_else(|| {
            ApiError::invalid(
                "Host",
                "this header is not a host name with an optional port",
            )
        })?;
        Ok(Self(format!("https://{authority}")))
    }
}

impl BaseUrl {
    /// A URL below the root of this server.
    pub(crate) fn root_url(&self, path: &str) -> String {
        format!("{}/{path}", self.0)
    }

    /// A URL below `/orchestrator/v1/`.
    pub(crate) fn orchestrator_url(&self, path: &str) -> String {
        format!("{}/orchestrator/v1/{path}", self.0)
    }

    pub(crate) fn link(&self, path: &str) -> Link {
        Link {
            id: self.orchestrator_url(path),
        }
    }

    pub(crate) fn named_link(&self, name: &str, path: &str) -> NamedLink {
        NamedLink {
            name: name.to_owned(),
            id: self.orchestrator_url(path),
        }
    }

    pub(crate) fn job_url(&self, number: JobNumber) -> JobRef {
        JobRef {
            id: self.orchestrator_url(&format!("jobs/{number}")),
            name: number.to_string(),
        }
    }
}
