//! Makes sure that the puppetserver reads the headers that name the client: [`HeaderTrust`].
//!
//! Without `allow-header-cert-info: true` it ignores them, and takes each request for one of this server, whose
//! certificate may have the rights of an administrator. So before requests are passed, and from time to time,
//! it is asked for something that no client without a certificate may have.
//!
//! Invariant: nothing is passed to a puppetserver that has not refused such a request.

use std::sync::Arc;

use axum::http::StatusCode;
use error_causes::chain;
use http_client::ClientHeaders;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::PuppetserverFront;
use crate::defaults::{FRONT_TRUST_TIME, FRONT_TRUST_WAIT};
use crate::failure::PuppetApiFailure;

/// Only known nodes may read it, and reading it changes nothing.
const PROBE_PATH: &str = "/puppet/v3/environments";

/// The time at which the puppetserver has refused a client without a certificate; `None`: not yet. Clones share
/// it.
#[derive(Debug, Clone, Default)]
pub(super) struct HeaderTrust(Arc<Mutex<Option<Instant>>>);

impl PuppetserverFront {
    /// Returns when the puppetserver is known to read the headers.
    pub(super) async fn ensure_headers_are_read(&self) -> Result<(), PuppetApiFailure> {
        // one question at a time
        let mut proven = self.inner.trust.0.lock().await;
        if proven.is_some_and(|at| at.elapsed() < FRONT_TRUST_TIME) {
            return Ok(());
        }
        match (self.refuses_unknown_clients().await, *proven) {
            (Ok(true), _) => *proven = Some(Instant::now()),
            // It was proven before, and a puppetserver without a free thread refuses nothing.
            (Err(error), Some(_)) if error.is_timeout() && !error.is_connect() => {}
            (Err(error), _) => {
                *proven = None;
                let url = &self.inner.url;
                let cause = chain(&error.without_url());
                return Err(PuppetApiFailure::unreachable(format!(
                    "the puppetserver {url} cannot be reached: {cause}"
                )));
            }
            (Ok(false), _) => {
                *proven = None;
                return Err(self.headers_are_ignored());
            }
        }
        Ok(())
    }

    /// True if a request without a client gets nothing, although this server's certificate is shown.
    async fn refuses_unknown_clients(&self) -> Result<bool, reqwest::Error> {
        let mut url = self.inner.url.clone();
        url.set_path(PROBE_PATH);
        let headers = ClientHeaders::unverified().into_headers();
        let request = self.inner.http.get(url).headers(headers);
        let response = request.timeout(FRONT_TRUST_WAIT).send().await?;
        Ok(response.status() == StatusCode::FORBIDDEN)
    }

    fn headers_are_ignored(&self) -> PuppetApiFailure {
        let url = &self.inner.url;
        tracing::error!(
            %url,
            "no request is passed to the puppetserver, because it would take all of them for this server's own: \
             set `allow-header-cert-info: true` in the section `authorization` of its auth.conf, and restart it"
        );
        PuppetApiFailure::unreachable(format!(
            "the puppetserver {url} does not read the headers that name its clients; its auth.conf needs \
             allow-header-cert-info: true"
        ))
    }
}
