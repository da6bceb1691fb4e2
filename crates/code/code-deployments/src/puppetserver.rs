//! Flushes the environment cache of a puppetserver that compiles with the same code:
//! [`PuppetserverAdmin`].
//!
//! `DELETE /puppet-admin-api/v1/environment-cache`, with a client certificate; the server's
//! `auth.conf` needs a rule. If its code ids are Tutti's, no compile runs while another version
//! becomes live: the catalog would have the new version's id or data and the old one's classes, and
//! lack the checksums of its files. Invariant: a puppetserver delays a deployment by at most
//! [`COMPILES_WAIT`] and the attempts to flush its cache, and does not make it fail.

use error_causes::chain;
use std::error::Error;
use std::time::Instant;

use async_trait::async_trait;
use environments::EnvironmentName;
use http_client::ClientHeaders;
use pki::{ClientTls, TlsFiles};
use reqwest::{Client, ClientBuilder, StatusCode, Url};
use serde_json::Value;

use crate::defaults::{
    COMPILES_LOOK, COMPILES_WAIT, FLUSH_ATTEMPTS, FLUSH_BACKOFF, FLUSH_TIMEOUT, STATUS_BYTES,
};
use crate::gate::{ClosedGate, CompileGate};
use code_store::code_cache::{CodeCache, CompilePause, PausedCompiles};

/// A client of one puppetserver's administration and status API.
#[derive(Debug)]
pub struct PuppetserverAdmin {
    url: Url,
    tls: TlsFiles,
    /// True if the puppetserver learns its clients from headers.
    is_behind: bool,
    gate: Option<CompileGate>,
}

/// Reason that a request to a puppetserver failed.
pub(crate) type RequestFailure = Box<dyn Error + Send + Sync>;

/// The kinds of requests that ask for a code id while they hold a JRuby instance.
const COMPILES: [&str; 4] = [
    "/puppet/v3/catalog/",
    "/puppet/v4/catalog",
    "/puppet/v3/compile",
    "/puppet/v3/tasks/",
];

// === impl PuppetserverAdmin ===

impl PuppetserverAdmin {
    /// A puppetserver at `url`, for example `https://puppet.example:8140`; `tls` has the client
    /// certificate.
    pub fn new(url: Url, tls: TlsFiles) -> Self {
        Self {
            url,
            tls,
            is_behind: false,
            gate: None,
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

    /// Sets the gate at which its requests for code ids wait.
    #[must_use]
    pub fn with_gate(mut self, gate: CompileGate) -> Self {
        self.gate = Some(gate);
        self
    }

    async fn client(&self) -> Result<Client, RequestFailure> {
        let mut builder = with_certificate(self.tls.clone()).await?;
        if self.is_behind {
            let tls = self.tls.clone();
            let headers = tokio::task::spawn_blocking(move || ClientHeaders::own(&tls)).await??;
            builder = builder.default_headers(headers.into_headers());
        }
        Ok(builder.no_proxy().timeout(FLUSH_TIMEOUT).build()?)
    }

    fn request_url(&self, path: &str, key: &str, value: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(path);
        url.query_pairs_mut().append_pair(key, value);
        url
    }

    /// Sends the request to flush, and retries if there is no response or the puppetserver is too
    /// busy.
    async fn flush(&self, environment: &EnvironmentName) -> Result<StatusCode, RequestFailure> {
        let http = self.client().await?;
        let path = "/puppet-admin-api/v1/environment-cache";
        let url = self.request_url(path, "environment", environment.as_str());
        let mut attempt = 1;
        loop {
            let answer = http.delete(url.clone()).send().await;
            let failed = match &answer {
                Ok(answer) => answer.status().is_server_error(),
                Err(error) => error.is_connect() || error.is_timeout(),
            };
            if !failed || attempt == FLUSH_ATTEMPTS {
                return Ok(answer.map_err(reqwest::Error::without_url)?.status());
            }
            tokio::time::sleep(FLUSH_BACKOFF * attempt).await;
            attempt += 1;
        }
    }

    /// Waits until every compile in progress waits at the gate.
    async fn wait_until_quiet(&self, closed: &mut ClosedGate) -> Result<(), RequestFailure> {
        let http = self.client().await?;
        let url = self.request_url("/status/v1/services/jruby-metrics", "level", "debug");
        let began = Instant::now();
        loop {
            // Count the waiting processes first: each is certainly among the compiles that are
            // counted next.
            let waiting = closed.count_waiting()?;
            let pool = match read_pool(&http, &url).await {
                // The puppetserver is not running, so it compiles nothing.
                Err(error) if error.is_connect() => return Ok(()),
                told => told.map_err(reqwest::Error::without_url)?,
            };
            let pool = pool.ok_or("its status names no instances of JRuby")?;
            if pool.compiling <= waiting && pool.is_whole {
                return Ok(());
            }
            if began.elapsed() >= COMPILES_WAIT {
                let many = pool.compiling.saturating_sub(waiting);
                let seconds = COMPILES_WAIT.as_secs();
                let what = match many {
                    0 => "an instance of JRuby was still being made".to_owned(),
                    many => format!("{many} went on"),
                };
                return Err(format!(
                    "{what} after {seconds} s; their catalogs may mix two versions"
                )
                .into());
            }
            // A puppetserver sends no notification when a compile is over.
            tokio::time::sleep(COMPILES_LOOK).await;
        }
    }

    fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }
}

/// A client with a client certificate that follows no redirects.
pub(crate) async fn with_certificate(tls: TlsFiles) -> Result<ClientBuilder, RequestFailure> {
    // The files are read each time, since certificates are renewed.
    let tls = tokio::task::spawn_blocking(move || ClientTls::load(&tls)).await??;
    Ok(http_client::builder_with_system_proxy(tls))
}

/// State of a puppetserver's JRuby instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct JrubyPool {
    /// Number of instances held by requests that ask for code ids.
    compiling: usize,
    /// True if all instances exist. An instance that is being created has read the environments
    /// already, and cannot flush them yet (observed with puppetserver 7.9).
    is_whole: bool,
}

/// Reads the state; `None` if the response does not contain it.
async fn read_pool(http: &Client, url: &Url) -> Result<Option<JrubyPool>, reqwest::Error> {
    let answer = http.get(url.clone()).send().await?;
    let mut answer = answer.error_for_status()?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > STATUS_BYTES {
            return Ok(None);
        }
    }
    Ok(serde_json::from_slice(&body)
        .ok()
        .and_then(|status| parse_pool(&status)))
}

fn parse_pool(status: &Value) -> Option<JrubyPool> {
    let metrics = &status["status"]["experimental"]["metrics"];
    let count = |name: &str| metrics[name].as_u64();
    let borrowed = metrics["borrowed-instances"].as_array()?;
    let compiles = |instance: &&Value| {
        // Borrowers other than requests do not matter to a deployment: a pool that is being
        // recreated.
        let uri = instance["reason"]["request"]["uri"].as_str();
        uri.is_some_and(|uri| COMPILES.iter().any(|begin| uri.starts_with(begin)))
    };
    let there = count("num-free-jrubies")? + borrowed.len() as u64;
    Some(JrubyPool {
        compiling: borrowed.iter().filter(compiles).count(),
        is_whole: there >= count("num-jrubies")?,
    })
}

impl CompilePause for ClosedGate {}

#[async_trait]
impl CodeCache for PuppetserverAdmin {
    async fn pause_before_switch(&self) -> PausedCompiles {
        let Some(gate) = &self.gate else {
            return PausedCompiles::default();
        };
        let note = |why: &(dyn Error + 'static)| {
            let host = self.host();
            format!(
                "compiles of the puppetserver {host} were not waited for: {}",
                chain(why)
            )
        };
        match gate.close().await {
            Ok(mut closed) => {
                let quiet = self.wait_until_quiet(&mut closed).await;
                PausedCompiles {
                    pause: Some(Box::new(closed)),
                    note: quiet.err().map(|why| note(&*why)),
                }
            }
            Err(error) => PausedCompiles {
                pause: None,
                note: Some(note(&error)),
            },
        }
    }

    async fn flush_after_switch(&self, environment: &EnvironmentName) -> Result<(), String> {
        let why = match self
            .flush(environment)
            .await
            .map_err(|error| chain(&*error))
        {
            Ok(StatusCode::NO_CONTENT) => return Ok(()),
            Ok(StatusCode::FORBIDDEN) => "it refuses it: its auth.conf needs a rule for DELETE on \
                 /puppet-admin-api/v1/environment-cache with this server's certname"
                .to_owned(),
            Ok(status) => format!("it answers {status}"),
            Err(why) => why,
        };
        Err(format!(
            "the puppetserver {} was not told to forget what it knows of {environment}: {why}",
            self.host()
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn compiles_are_told_from_other_requests() {
        let of = |uri: &str| json!({"time": 1, "reason": {"request": {"uri": uri}}});
        let status = |borrowed: Value, free: u64| {
            let metrics =
                json!({"borrowed-instances": borrowed, "num-free-jrubies": free, "num-jrubies": 6});
            parse_pool(&json!({"status": {"experimental": {"metrics": metrics}}}))
        };
        let pool = |compiling, is_whole| {
            Some(JrubyPool {
                compiling,
                is_whole,
            })
        };
        let some = [
            "/puppet/v3/catalog/node1.example.com",
            "/puppet/v3/file_metadatas/plugins",
            "/puppet/v4/catalog",
            "/puppet/v3/report/node1.example.com",
            "/puppet/v3/tasks/package/init",
        ]
        .map(of);
        assert_eq!(status(json!(some), 1), pool(3, true));
        assert_eq!(status(json!(some), 0), pool(3, false));
        let init = json!([{"time": 1, "reason": "init"}]);
        assert_eq!(status(init, 5), pool(0, true));
        assert_eq!(parse_pool(&json!({"status": {}})), None);
    }
}
