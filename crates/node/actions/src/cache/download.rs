//! Fetches files from the primary servers over mutual TLS: [`FileDownloader`].
//!
//! Invariants: only https is used; the digest is computed from the bytes as they are written, and
//! only a file with the requested digest gets its final name; every primary server is tried in each
//! round; rounds go on for the whole `task-download-timeout` while servers are unreachable, and a
//! download that waits for its next round occupies no slot that another download needs.

use error_causes::{ConnectionError, ConnectionErrorKind, chain};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use pki::{ClientTls, TlsFiles};
use pxp::action::{FileSpec, Sha256};
use reqwest::{Client, Response, Url};
use serde_json::{Map, Value};
use sha2::Digest;
use tempfile::NamedTempFile;
use tokio::sync::{Semaphore, mpsc};

use super::retry::{RetryVerdict, classify_failure, wait_before};
use crate::defaults::{
    CHUNKS_IN_FLIGHT, DOWNLOAD_BACKOFF_MAX, DOWNLOAD_CONNECT_TIMEOUT, DOWNLOAD_FAULTY_ROUNDS,
    DOWNLOAD_TIMEOUT, MAX_CONCURRENT_DOWNLOADS, MAX_FILE_BYTES, MAX_FILE_SERVERS,
};

/// Settings of downloads: servers, credentials and timeouts.
#[derive(Debug, Clone)]
pub struct DownloadConfig {
    /// `https://host:port` of each primary server, tried in this order.
    pub primary_uris: Vec<String>,
    /// The agent's certificate; read anew for each download.
    pub tls: Option<TlsFiles>,
    /// Proxy of the setting `master-proxy`: `http://host:port`.
    pub proxy: Option<String>,
    /// Timeout of the TCP and TLS connection (`task-download-connect-timeout`).
    pub connect_timeout: Duration,
    /// Setting `task-download-timeout`: the limit of a download including all its attempts.
    pub total_timeout: Duration,
    /// Longest wait between two attempts, unless a server requests a longer one.
    pub backoff_max: Duration,
}

impl Default for DownloadConfig {
    fn default() -> Self {
        Self {
            primary_uris: Vec::new(),
            tls: None,
            proxy: None,
            connect_timeout: DOWNLOAD_CONNECT_TIMEOUT,
            total_timeout: DOWNLOAD_TIMEOUT,
            backoff_max: DOWNLOAD_BACKOFF_MAX,
        }
    }
}

/// Reason for which a file is not available.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileFetchError {
    #[error("invalid file {filename:?}: {why}")]
    Spec { filename: String, why: String },
    #[error("cannot write to the task cache at {path}: {source}")]
    Cache { path: PathBuf, source: io::Error },
    #[error(
        "no server is known to download from: the orchestrator named none, and `primary-uris` is not set"
    )]
    NoServer,
    #[error("cannot set up downloads: {0}")]
    Setup(String),
    #[error("downloading {url} failed: {why}{advice}")]
    Download {
        url: String,
        why: String,
        advice: &'static str,
    },
}

/// One failed attempt.
#[derive(Debug)]
enum AttemptError {
    Transient {
        why: String,
        wait: Option<Duration>,
    },
    /// The server is reachable but fails for this file.
    Faulty(String),
    Permanent(String),
    /// A failure of the node itself: no other server helps.
    Local(FileFetchError),
}

/// A round in which no server had the file.
#[derive(Debug)]
struct FailedRound {
    /// Prospect of the most promising server of the round.
    prospect: RetryProspect,
    /// The longest wait that a server requested.
    wait: Option<Duration>,
    /// Failure of the last server tried.
    failure: DownloadFailure,
}

#[derive(Debug)]
struct DownloadFailure {
    url: String,
    why: String,
}

/// Prospect of another round of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RetryProspect {
    /// Every server refused permanently.
    None,
    /// A server is reachable but fails for this file.
    Little,
    /// A server is unreachable or overloaded.
    Good,
}

/// A file, the URLs it can be fetched from, and its destination.
#[derive(Debug)]
struct DownloadRequest<'a> {
    urls: &'a [Url],
    spec: &'a FileSpec,
    directory: &'a Path,
    /// Next step to suggest if no server has the file.
    advice: &'static str,
}

#[derive(Debug)]
pub(super) struct FileDownloader {
    config: DownloadConfig,
    slots: Semaphore,
}

impl FileDownloader {
    pub(super) fn new(config: DownloadConfig) -> Self {
        Self {
            config,
            slots: Semaphore::new(MAX_CONCURRENT_DOWNLOADS),
        }
    }

    /// Fetches a file into `directory`, under its basename.
    pub(super) async fn fetch(
        &self,
        spec: &FileSpec,
        file_servers: &[String],
        directory: &Path,
    ) -> Result<(), FileFetchError> {
        let urls = self.urls(spec, file_servers)?;
        let last = Mutex::new(None);
        let wanted = DownloadRequest {
            urls: &urls,
            spec,
            directory,
            advice: advice(file_servers),
        };
        let rounds = self.run_rounds(&wanted, &last);

        tokio::time::timeout(self.config.total_timeout, rounds)
            .await
            .unwrap_or_else(|_| {
                let limit = self.config.total_timeout;
                let last = last.into_inner().unwrap_or_else(PoisonError::into_inner);
                let why = match last {
                    Some(why) => format!("tried for {limit:?} (`task-download-timeout`): {why}"),
                    None => format!("it took more than {limit:?} (`task-download-timeout`)"),
                };
                Err(FileFetchError::Download {
                    url: urls[0].to_string(),
                    why,
                    advice: wanted.advice,
                })
            })
    }

    /// Repeats rounds until the file is fetched or cannot be. `last` receives the last failure,
    /// which is reported if the time runs out.
    async fn run_rounds(
        &self,
        wanted: &DownloadRequest<'_>,
        last: &Mutex<Option<String>>,
    ) -> Result<(), FileFetchError> {
        let (mut failed_rounds, mut faulty_rounds) = (0_u32, 0);
        loop {
            let round = self.run_round(wanted).await?;
            let Some(round) = round else {
                return Ok(());
            };
            failed_rounds = failed_rounds.saturating_add(1);
            faulty_rounds += u32::from(round.prospect == RetryProspect::Little);
            if round.prospect == RetryProspect::None || faulty_rounds == DOWNLOAD_FAULTY_ROUNDS {
                let DownloadFailure { url, why } = round.failure;
                let advice = wanted.advice;
                return Err(FileFetchError::Download { url, why, advice });
            }
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(round.failure.why);
            let ceiling = self.config.backoff_max;
            let wait = wait_before(failed_rounds, round.wait, ceiling, rand::random());
            tokio::time::sleep(wait).await;
        }
    }

    /// Tries every server once; `None` if one of them had the file.
    async fn run_round(
        &self,
        wanted: &DownloadRequest<'_>,
    ) -> Result<Option<FailedRound>, FileFetchError> {
        let DownloadRequest {
            urls,
            spec,
            directory,
            ..
        } = *wanted;
        let _slot = self
            .slots
            .acquire()
            .await
            .expect("the semaphore is never closed");
        // A new client for each round: certificates and revocation lists may change while a server
        // is unreachable.
        let client = self.client()?;
        let mut failed: Option<FailedRound> = None;
        for url in urls {
            let (why, hope, wait) = match attempt_download(&client, url, spec, directory).await {
                Ok(()) => return Ok(None),
                Err(AttemptError::Local(error)) => return Err(error),
                Err(AttemptError::Permanent(why)) => (why, RetryProspect::None, None),
                Err(AttemptError::Faulty(why)) => (why, RetryProspect::Little, None),
                Err(AttemptError::Transient { why, wait }) => (why, RetryProspect::Good, wait),
            };
            tracing::warn!(%url, why, "download failed");
            let before = failed.as_ref();
            let failure = match before {
                Some(before) => before.failure.and(url, &why),
                None => DownloadFailure {
                    url: url.to_string(),
                    why,
                },
            };
            failed = Some(FailedRound {
                prospect: before.map_or(hope, |before| before.prospect.max(hope)),
                wait: before.and_then(|before| before.wait).max(wait),
                failure,
            });
        }
        Ok(failed)
    }

    fn urls(&self, spec: &FileSpec, file_servers: &[String]) -> Result<Vec<Url>, FileFetchError> {
        let named = file_servers.iter().take(MAX_FILE_SERVERS);
        let mut servers: Vec<&String> = named.collect();
        let own = self.config.primary_uris.iter();
        servers.extend(own.filter(|uri| !file_servers.contains(uri)));
        if servers.is_empty() && !spec.uri.path.starts_with('@') {
            return Err(FileFetchError::NoServer);
        }
        let invalid = |why| FileFetchError::Spec {
            filename: spec.filename.to_string(),
            why,
        };
        if let Some((authority, path)) = named_in(&spec.uri.path) {
            let server = format!("https://{authority}");
            let url = file_url(&server, path, &spec.uri.params);
            return Ok(vec![url.map_err(invalid)?]);
        }
        servers
            .into_iter()
            .map(|server| file_url(server, &spec.uri.path, &spec.uri.params).map_err(invalid))
            .collect()
    }

    /// Builds the client for one download, so that renewed certificates and revocation lists count
    /// and an idle agent holds no TLS state for it.
    fn client(&self) -> Result<Client, FileFetchError> {
        let tls = self.config.tls.as_ref();
        let files =
            tls.ok_or_else(|| FileFetchError::Setup("no certificate is configured".into()))?;
        let tls = ClientTls::load(files).map_err(|error| FileFetchError::Setup(chain(&error)))?;
        let mut builder = http_client::builder(tls)
            .https_only(true)
            .connect_timeout(self.config.connect_timeout);
        if let Some(proxy) = &self.config.proxy {
            let proxy = reqwest::Proxy::all(proxy).map_err(|error| {
                FileFetchError::Setup(format!("`master-proxy`: {}", chain(&error)))
            })?;
            builder = builder.proxy(proxy);
        }
        builder
            .build()
            .map_err(|error| FileFetchError::Setup(chain(&error)))
    }
}

// === impl DownloadFailure ===

impl DownloadFailure {
    /// Adds the failure of another server.
    fn and(&self, url: &Url, why: &str) -> Self {
        Self {
            url: self.url.clone(),
            why: format!("{}; {url}: {why}", self.why),
        }
    }
}

/// The next step to suggest if the requester named no server.
fn advice(file_servers: &[String]) -> &'static str {
    match file_servers.is_empty() {
        true => {
            "; the address is made of `primary-uris` in the configuration of this agent, which must name the server              that runs the tasks, or one with the same code"
        }
        false => "",
    }
}

/// Server and remaining path of a path that starts with a server name. Agents that do not support
/// server names receive paths in this form.
fn named_in(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix('@')?;
    let at = rest.find('/')?;
    let (authority, path) = rest.split_at(at);
    // Only a host and a port are accepted.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    (!authority.is_empty() && authority.chars().all(is_plain)).then_some((authority, path))
}

/// `primary` + `path` + `params`; the path stays below the primary server.
fn file_url(primary: &str, path: &str, params: &Map<String, Value>) -> Result<Url, String> {
    if !path.starts_with('/') {
        return Err(format!("the path {path:?} does not begin with a slash"));
    }
    let text = format!("{}{path}", primary.trim_end_matches('/'));
    let mut url = Url::parse(&text).map_err(|_| {
        format!("{text:?} is no URL; write primary-uris of the agent as https://host:port")
    })?;
    if url.scheme() != "https" {
        return Err(format!("{text:?} is not https"));
    }
    for (name, value) in params {
        let value = value
            .as_str()
            .ok_or_else(|| format!("the parameter {name:?} is no string"))?;
        url.query_pairs_mut().append_pair(name, value);
    }
    Ok(url)
}

async fn attempt_download(
    client: &Client,
    url: &Url,
    spec: &FileSpec,
    directory: &Path,
) -> Result<(), AttemptError> {
    let response = client.get(url.clone()).send().await.map_err(|error| {
        let error = ConnectionError::from_error(&error);
        let why = error.to_string();
        match error.kind() {
            ConnectionErrorKind::PeerCertificate => AttemptError::Permanent(why),
            _ => AttemptError::Transient { why, wait: None },
        }
    })?;
    let status = response.status();
    let retry_after = response.headers().get(http::header::RETRY_AFTER);
    match classify_failure(status, retry_after.and_then(|value| value.to_str().ok())) {
        RetryVerdict::Good => {}
        RetryVerdict::Permanent => {
            return Err(AttemptError::Permanent(format!(
                "the server answered {status}"
            )));
        }
        RetryVerdict::Faulty => {
            return Err(AttemptError::Faulty(format!(
                "the server answered {status}"
            )));
        }
        RetryVerdict::Transient(wait) => {
            return Err(AttemptError::Transient {
                why: format!("the server answered {status}"),
                wait,
            });
        }
    }
    save(response, spec, directory).await
}

/// Writes the body to a file, which gets its final name if its digest is right.
async fn save(response: Response, spec: &FileSpec, directory: &Path) -> Result<(), AttemptError> {
    let (chunks, received) = mpsc::channel(CHUNKS_IN_FLIGHT);
    let written = tokio::task::spawn_blocking({
        let directory = directory.to_owned();
        let spec = spec.clone();
        move || write(received, &spec, &directory)
    });
    let mut body = response.bytes_stream();
    while let Some(chunk) = body.next().await {
        // The writer drops an unfinished file when its channel closes early.
        let chunk = chunk.map_err(|error| AttemptError::Transient {
            why: ConnectionError::from_error(&error).to_string(),
            wait: None,
        })?;
        if chunks.send(Some(chunk)).await.is_err() {
            break;
        }
    }
    // If the writer has ended, its result contains the reason.
    let _ = chunks.send(None).await;
    written.await.expect("the writer does not panic")
}

/// Writes chunks until `None`, on a thread that may block on the disk.
fn write(
    mut chunks: mpsc::Receiver<Option<Bytes>>,
    spec: &FileSpec,
    directory: &Path,
) -> Result<(), AttemptError> {
    let local = |source| {
        AttemptError::Local(FileFetchError::Cache {
            path: directory.to_owned(),
            source,
        })
    };
    let mut file = temporary(directory).map_err(local)?;
    let mut hasher = sha2::Sha256::new();
    let mut size = 0;
    loop {
        let chunk = match chunks.blocking_recv() {
            Some(Some(chunk)) => chunk,
            Some(None) => break,
            None => return Err(AttemptError::Permanent("it was abandoned".into())),
        };
        size += chunk.len() as u64;
        if size > MAX_FILE_BYTES {
            let why = format!("the file is larger than {MAX_FILE_BYTES} bytes");
            return Err(AttemptError::Permanent(why));
        }
        hasher.update(&chunk);
        file.write_all(&chunk).map_err(local)?;
    }
    let found = Sha256::from(<[u8; 32]>::from(hasher.finalize()));
    if found != spec.sha256 {
        let expected = spec.sha256;
        return Err(AttemptError::Permanent(format!(
            "the file's sha256 is {found}, but the request expects {expected}"
        )));
    }
    // Not flushed: the digest is compared at every use, and a file lost in a power cut is fetched
    // again.
    file.persist(directory.join(spec.filename.file_name()))
        .map_err(|error| local(error.error))?;
    Ok(())
}

fn temporary(directory: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".download-")
        .permissions(std::fs::Permissions::from_mode(0o750))
        .tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(pairs: &[(&str, &str)]) -> Map<String, Value> {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), Value::from(*v)))
            .collect()
    }

    #[test]
    fn urls_are_built_and_escaped() {
        let url = file_url(
            "https://primary:8140/",
            "/puppet/v3/file_content/tasks/m/t.sh",
            &params(&[("environment", "a b&c"), ("code_id", "1")]),
        );
        let expected = "https://primary:8140/puppet/v3/file_content/tasks/m/t.sh\
                        ?environment=a+b%26c&code_id=1";
        assert_eq!(url.unwrap().as_str(), expected);
    }

    #[test]
    fn urls_that_lead_elsewhere_are_refused() {
        let none = params(&[]);
        assert!(file_url("http://primary", "/x", &none).is_err());
        assert!(file_url("https://primary", ".evil.example.com/x", &none).is_err());
        assert!(file_url("https://primary", "@evil.example.com/x", &none).is_err());
        assert_eq!(named_in("@tutti:8141/x/y"), Some(("tutti:8141", "/x/y")));
        for path in ["/x", "@/x", "@tutti", "@user@tutti/x", "@tutti?/x"] {
            assert_eq!(named_in(path), None, "{path}");
        }
    }

    #[tokio::test]
    async fn without_a_primary_there_is_advice() {
        let spec = serde_json::json!({
            "filename": "x", "sha256": "ab".repeat(32), "uri": {"path": "/x", "params": {}},
        });
        let spec: FileSpec = serde_json::from_value(spec).unwrap();
        let downloader = FileDownloader::new(DownloadConfig::default());
        let error = downloader
            .fetch(&spec, &[], Path::new("/nowhere"))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("primary-uris"), "{error}");
    }
}
