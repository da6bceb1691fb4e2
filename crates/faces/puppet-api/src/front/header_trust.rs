//! Makes sure that the puppetserver reads the headers that name the client: [`HeaderTrust`].
//!
//! Without `allow-header-cert-info: true` it ignores them, and takes each request for one of this server, whose
//! certificate may have the rights of an administrator. So before requests are passed, and from time to time,
//! it is asked for something that no client without a certificate may have.
//!
//! Invariant: nothing is passed to a puppetserver that has not refused such a request.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use error_causes::chain;
use http_client::ClientHeaders;
use tokio::time::Instant;

use super::PuppetserverFront;
use crate::defaults::{FRONT_TRUST_TIME, FRONT_TRUST_WAIT};
use crate::failure::PuppetApiFailure;

/// Only known nodes may read it, and reading it changes nothing.
const PROBE_PATH: &str = "/puppet/v3/environments";

/// Whether the puppetserver is known to read the headers. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct HeaderTrust(Arc<TrustState>);

#[derive(Debug, Default)]
struct TrustState {
    /// Time at which the puppetserver has refused a client without a certificate; `None`: not yet.
    proven: Mutex<Option<Instant>>,
    /// Held by the request that asks.
    asking: tokio::sync::Mutex<()>,
}

impl HeaderTrust {
    fn proven(&self) -> Option<Instant> {
        *self.0.proven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, proven: Option<Instant>) {
        *self.0.proven.lock().unwrap_or_else(PoisonError::into_inner) = proven;
    }
}

impl PuppetserverFront {
    /// Returns when the puppetserver is known to read the headers.
    pub(super) async fn ensure_headers_are_read(&self) -> Result<(), PuppetApiFailure> {
        let trust = &self.inner.trust;
        let _asking = match trust.proven() {
            Some(at) if at.elapsed() < FRONT_TRUST_TIME => return Ok(()),
            // it is believed until the answer of the one request that asks again
            Some(_) => match trust.0.asking.try_lock() {
                Ok(asking) => asking,
                Err(_) => return Ok(()),
            },
            None => trust.0.asking.lock().await,
        };
        let before = trust.proven();
        if before.is_some_and(|at| at.elapsed() < FRONT_TRUST_TIME) {
            return Ok(());
        }
        match self.refuses_unknown_clients().await {
            Ok(true) => trust.set(Some(Instant::now())),
            // a puppetserver without a free thread refuses nothing, and has not been restarted
            Err(error) if before.is_some() && error.is_timeout() && !error.is_connect() => {
                trust.set(Some(Instant::now()));
            }
            Err(error) => {
                trust.set(None);
                let url = &self.inner.url;
                let cause = chain(&error.without_url());
                return Err(PuppetApiFailure::unreachable(format!(
                    "the puppetserver {url} cannot be reached: {cause}"
                )));
            }
            Ok(false) => {
                trust.set(None);
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
