//! HTTPS requests to PuppetDB, with failover: [`PuppetDbClient`].
//!
//! Invariants: servers are tried in the order of the configuration, with recently failed ones
//! last; one request has a single deadline that covers all servers and the wait for a permit; no
//! redirect is followed, because a client certificate is sent.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use pki::{ClientTls, TlsFiles};
use reqwest::{StatusCode, Url};
use serde_json::Value;
use tokio::time::Instant;

use super::command::PuppetDbCommand;
use super::conf::PuppetDbConfig;
use error_causes::{ConnectionError, chain};
use http_client::{BodyError, excerpt};

use super::failure::classify_error;
use crate::QueryError;
use crate::defaults::{AVOID_FAILED, ENGINE_QUESTIONS, MAX_ERROR_BYTES, QUESTIONS, SHOWN_BYTES};
use crate::query_permits::{QueryOrigin, QueryPermits};

/// A client of all configured servers.
#[derive(Debug)]
pub(super) struct PuppetDbClient {
    config: PuppetDbConfig,
    permits: QueryPermits,
    http: Mutex<Option<CachedHttpClient>>,
    /// Time of the last failure of each server.
    failed: Mutex<Vec<Option<Instant>>>,
}

/// One request to PuppetDB.
enum PuppetDbRequest<'a> {
    Query(&'a Value),
    Command(&'a PuppetDbCommand),
}

/// An HTTP client, with the state of the files that it was made from.
#[derive(Debug, Clone)]
struct CachedHttpClient {
    from: FileStamps,
    http: reqwest::Client,
}

/// Size and modification time of each file.
type FileStamps = Vec<Option<(u64, SystemTime)>>;

impl PuppetDbClient {
    pub(super) fn new(config: PuppetDbConfig) -> Self {
        let failed = vec![None; config.server_urls.len()];
        Self {
            config,
            permits: QueryPermits::new(QUESTIONS, ENGINE_QUESTIONS),
            http: Mutex::new(None),
            failed: Mutex::new(failed),
        }
    }

    /// The URLs of the servers, for messages.
    pub(super) fn server_list(&self) -> String {
        let urls: Vec<&str> = self.config.server_urls.iter().map(Url::as_str).collect();
        urls.join(", ")
    }

    /// Sends a query; returns the rows of the answer.
    pub(super) async fn send_query(
        &self,
        asker: QueryOrigin,
        question: &Value,
    ) -> Result<Vec<Value>, QueryError> {
        self.send_to_first(asker, &PuppetDbRequest::Query(question))
            .await
    }

    /// Submits a command. The answer comes when PuppetDB has the command in its own queue.
    pub(super) async fn submit(&self, command: &PuppetDbCommand) -> Result<(), QueryError> {
        let request = PuppetDbRequest::Command(command);
        self.send_to_first(QueryOrigin::Engine, &request)
            .await
            .map(drop)
    }

    /// Sends a request to the servers in turn until one answers. Returns the rows of the answer; a
    /// command has none.
    async fn send_to_first(
        &self,
        asker: QueryOrigin,
        request: &PuppetDbRequest<'_>,
    ) -> Result<Vec<Value>, QueryError> {
        let started = Instant::now();
        let deadline = started + self.config.total_timeout;
        let _place = self
            .permits
            .acquire(asker, self.config.total_timeout)
            .await?;
        let mut errors = Vec::new();
        for index in self.server_order() {
            if Instant::now() >= deadline {
                break;
            }
            match self.send_to_server(index, request, deadline).await {
                Ok(rows) => {
                    self.lock_failed()[index] = None;
                    return Ok(rows);
                }
                Err(error) if error.is_of_one_server() => {
                    tracing::warn!(%error, "a PuppetDB did not answer");
                    self.lock_failed()[index] = Some(Instant::now());
                    errors.push(error);
                }
                Err(error) => return Err(error),
            }
        }
        match errors.pop() {
            Some(only) if errors.is_empty() => Err(only),
            Some(last) => {
                errors.push(last);
                Err(QueryError::AllFailed(errors))
            }
            None => Err(QueryError::Timeout {
                url: self.server_list(),
                after: started.elapsed(),
            }),
        }
    }

    /// The servers in the configured order, with recently failed ones last.
    fn server_order(&self) -> Vec<usize> {
        let failed = self.lock_failed().clone();
        let avoided = |index: &usize| failed[*index].is_some_and(|at| at.elapsed() < AVOID_FAILED);
        let mut order: Vec<usize> = (0..failed.len()).collect();
        order.sort_by_key(avoided);
        order
    }

    async fn send_to_server(
        &self,
        index: usize,
        request: &PuppetDbRequest<'_>,
        deadline: Instant,
    ) -> Result<Vec<Value>, QueryError> {
        let base = &self.config.server_urls[index];
        let http = self.http_client(base).await?;
        let started = Instant::now();
        let asking = self.send_request(http, base, request);
        match tokio::time::timeout_at(deadline, asking).await {
            Ok(answer) => answer,
            Err(_) => Err(QueryError::Timeout {
                url: base.to_string(),
                after: started.elapsed(),
            }),
        }
    }

    async fn send_request(
        &self,
        http: reqwest::Client,
        base: &Url,
        request: &PuppetDbRequest<'_>,
    ) -> Result<Vec<Value>, QueryError> {
        let url = base.to_string();
        let started = Instant::now();
        let failed = |error: reqwest::Error| classify_error(&url, &error, started.elapsed());
        let sent = request.to_http(&http, url.trim_end_matches('/'));
        let mut response = sent.send().await.map_err(failed)?;
        let status = response.status();
        let limit = match status.is_success() {
            true => self.config.max_response_bytes,
            false => MAX_ERROR_BYTES,
        };
        let read = http_client::read_body(&mut response, limit).await;
        if !status.is_success() {
            let body = read.unwrap_or_else(|_| Vec::new());
            return Err(refused_error(&url, status, &body));
        }
        match read {
            Ok(body) => request.parse_reply(&url, &body),
            Err(BodyError::TooLarge(_)) => Err(QueryError::TooLarge {
                limit: format!("{} MiB", limit >> 20),
            }),
            Err(BodyError::Broken(error)) if error.is_timeout() => Err(failed(error)),
            Err(BodyError::Broken(error)) => Err(QueryError::Garbage {
                what: format!(
                    "the answer broke off: {}",
                    ConnectionError::from_error(&error)
                ),
                url,
            }),
        }
    }

    /// The client for `base`, created again if a certificate, key or revocation list changed.
    async fn http_client(&self, base: &Url) -> Result<reqwest::Client, QueryError> {
        let files = self.config.tls.clone();
        let known = self.lock().clone();
        let (connect, read) = (self.config.connect_timeout, self.config.read_timeout);
        let made = tokio::task::spawn_blocking(move || {
            let from = files.as_ref().map(read_stamps).unwrap_or_default();
            match known {
                Some(known) if known.from == from => Ok(known),
                _ => build_http_client(files.as_ref(), connect, read)
                    .map(|http| CachedHttpClient { from, http }),
            }
        });
        let made = made.await.map_err(|_| QueryError::ShuttingDown)?;
        let made = made.map_err(|cause| QueryError::Certificate {
            url: base.to_string(),
            cause,
        })?;
        *self.lock() = Some(made.clone());
        Ok(made.http)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<CachedHttpClient>> {
        self.http.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_failed(&self) -> std::sync::MutexGuard<'_, Vec<Option<Instant>>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl PuppetDbRequest ===

impl PuppetDbRequest<'_> {
    /// `base`: URL of the server, without a slash at its end.
    fn to_http(&self, http: &reqwest::Client, base: &str) -> reqwest::RequestBuilder {
        match self {
            Self::Query(question) => http.post(format!("{base}/pdb/query/v4")).json(question),
            Self::Command(command) => command.to_http(http, base),
        }
    }

    fn parse_reply(&self, url: &str, body: &[u8]) -> Result<Vec<Value>, QueryError> {
        match self {
            Self::Query(_) => parse_rows(url, body),
            Self::Command(_) => PuppetDbCommand::check_reply(url, body).map(|()| Vec::new()),
        }
    }
}

fn read_stamps(files: &TlsFiles) -> FileStamps {
    let paths = [&files.cert, &files.key, &files.ca];
    let paths = paths.into_iter().chain(&files.crl);
    paths
        .map(|path| {
            let meta = std::fs::metadata(path).ok()?;
            Some((meta.len(), meta.modified().ok()?))
        })
        .collect()
}

fn build_http_client(
    files: Option<&TlsFiles>,
    connect: Duration,
    read: Duration,
) -> Result<reqwest::Client, String> {
    let builder = match files {
        Some(files) => http_client::builder(ClientTls::load(files).map_err(|error| chain(&error))?),
        // Only for `http://` on this machine, which the configuration has checked.
        None => http_client::without_tls(),
    };
    let builder = builder.connect_timeout(connect).read_timeout(read);
    builder.build().map_err(|error| chain(&error))
}

fn refused_error(url: &str, status: StatusCode, body: &[u8]) -> QueryError {
    let words = match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(told)) => told
            .get("error")
            .or_else(|| told.get("msg"))
            .and_then(Value::as_str)
            .map(|text| excerpt(text.as_bytes(), SHOWN_BYTES)),
        _ => None,
    };
    let words = words.unwrap_or_else(|| excerpt(body, SHOWN_BYTES));
    match status {
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
            QueryError::QueryInvalid { words }
        }
        _ => QueryError::Refused {
            url: url.to_owned(),
            status: status.as_u16(),
            words,
        },
    }
}

fn parse_rows(url: &str, body: &[u8]) -> Result<Vec<Value>, QueryError> {
    let told = |what: String| QueryError::Garbage {
        url: url.to_owned(),
        what,
    };
    match decode_errors::json::from_slice(body) {
        Ok(Value::Array(rows)) => Ok(rows),
        Ok(_) => Err(told(format!(
            "not a list of rows: {}",
            excerpt(body, SHOWN_BYTES / 8)
        ))),
        Err(error) => Err(told(format!("{error}: {}", excerpt(body, SHOWN_BYTES / 8)))),
    }
}
