//! HTTP client for the server that is followed: [`RemoteServer`].
//!
//! Invariants: both sides present certificates of the CA; every answer is bounded in size and time;
//! certificates are read anew after each failure.

mod blob;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use api_types::{CheckInCommand, CheckedIn, FileSyncVersions};
use environments::EnvironmentName;
use pki::{ClientTls, ServerCertnames, TlsFiles};
use reqwest::{Client, Response, StatusCode, Url};

use crate::defaults::{
    FOLLOWER_ANSWER, FOLLOWER_CONNECT_TIMEOUT, FOLLOWER_POLL, FOLLOWER_READ_TIMEOUT, MANIFEST_BYTES,
};
use code_store::content::ContentHash;
use code_store::version::VersionSignature;
use error_causes::chain;

/// Client for the server. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct RemoteServer {
    inner: Arc<RemoteServerInner>,
}

#[derive(Debug)]
struct RemoteServerInner {
    url: Url,
    tls: TlsFiles,
    certnames: ServerCertnames,
    client: Mutex<Option<Client>>,
}

/// Cause of a failed request to the server.
#[derive(Debug, thiserror::Error)]
pub(super) enum RemoteServerError {
    #[error("the certificates cannot be used: {0}")]
    Tls(String),
    #[error("{url} cannot be asked: {why}")]
    Unreachable { url: Url, why: String },
    #[error("{url} answers {status}: {said}")]
    Refused {
        url: Url,
        status: StatusCode,
        said: String,
    },
    #[error("{url} answers something else than was asked for: {why}")]
    Unexpected { url: Url, why: String },
    #[error("the content {wanted} came with the hash {came}")]
    Forged {
        wanted: ContentHash,
        came: ContentHash,
    },
    #[error("{url} ended after {has} of {of} bytes")]
    Short { url: Url, has: u64, of: u64 },
    /// The answer does not continue the part that is already here.
    #[error("{url} has another part than was asked for: {why}")]
    OtherPart { url: Url, why: String },
}

/// Bytes of an error's body that are read.
const SAID_BYTES: u64 = 16 << 10;
/// Characters of an error that are shown.
const SAID_CHARS: usize = 300;

// === impl RemoteServerError ===

impl RemoteServerError {
    /// True if the connection failed or the answer broke off, so that the download may be resumed.
    pub(super) fn is_connection_lost(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Short { .. })
    }
}

// === impl RemoteServer ===

impl RemoteServer {
    pub(super) fn new(url: Url, tls: TlsFiles, certnames: ServerCertnames) -> Self {
        Self {
            inner: Arc::new(RemoteServerInner {
                url,
                tls,
                certnames,
                client: Mutex::default(),
            }),
        }
    }

    async fn client(&self) -> Result<Client, RemoteServerError> {
        let known = {
            let client = self.inner.client.lock();
            client.unwrap_or_else(PoisonError::into_inner).clone()
        };
        if let Some(client) = known {
            return Ok(client);
        }
        let tls = self.inner.tls.clone();
        let certnames = self.inner.certnames.clone();
        let loaded = move || ClientTls::load_for(&tls, certnames);
        let loaded = tokio::task::spawn_blocking(loaded).await;
        let tls = loaded.map_err(|error| RemoteServerError::Tls(error.to_string()))?;
        let tls = tls.map_err(|error| RemoteServerError::Tls(chain(&error)))?;
        let client = http_client::builder(tls)
            .connect_timeout(FOLLOWER_CONNECT_TIMEOUT)
            .read_timeout(FOLLOWER_READ_TIMEOUT)
            .build()
            .map_err(|error| RemoteServerError::Tls(chain(&error)))?;
        let mut known = self
            .inner
            .client
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known = Some(client.clone());
        Ok(client)
    }

    /// Makes the next request read the certificates anew.
    fn forget_client(&self) {
        let mut known = self
            .inner
            .client
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *known = None;
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.inner.url.clone();
        url.set_path(path);
        url
    }

    /// Sends the report of this follower and waits for a change of the announcements.
    pub(super) async fn check_in(
        &self,
        command: &CheckInCommand,
    ) -> Result<CheckedIn, RemoteServerError> {
        let url = self.url("/file-sync/v1/check-in");
        let request = self.client().await?.post(url.clone()).json(command);
        let answer = request
            .timeout(FOLLOWER_POLL + FOLLOWER_ANSWER)
            .send()
            .await;
        let body = self.read_body(&url, answer, MANIFEST_BYTES).await?;
        decode_errors::json::from_slice(&body).map_err(|error| RemoteServerError::Unexpected {
            url,
            why: error.to_string(),
        })
    }

    /// The versions that the server keeps. Invalid names are ignored.
    pub(super) async fn versions(
        &self,
    ) -> Result<HashSet<(EnvironmentName, VersionSignature)>, RemoteServerError> {
        let url = self.url("/file-sync/v1/versions");
        let request = self.client().await?.get(url.clone());
        let answer = request.timeout(FOLLOWER_ANSWER).send().await;
        let body = self.read_body(&url, answer, MANIFEST_BYTES).await?;
        let kept: FileSyncVersions = decode_errors::json::from_slice(&body).map_err(|error| {
            RemoteServerError::Unexpected {
                url,
                why: error.to_string(),
            }
        })?;
        let named = kept
            .environments
            .iter()
            .flat_map(|(of, versions)| versions.iter().map(move |version| (of, version)));
        Ok(named
            .filter_map(|(of, version)| Some((of.parse().ok()?, version.parse().ok()?)))
            .collect())
    }

    /// The encoded list of a version's files.
    pub(super) async fn manifest(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Result<Vec<u8>, RemoteServerError> {
        let url = self.url(&format!(
            "/file-sync/v1/manifests/{environment}/{signature}"
        ));
        let answer = self.client().await?.get(url.clone()).send().await;
        self.read_body(&url, answer, MANIFEST_BYTES).await
    }

    async fn send_checked(
        &self,
        url: &Url,
        answer: reqwest::Result<Response>,
    ) -> Result<Response, RemoteServerError> {
        let mut answer = answer.map_err(|error| self.unreachable(url, error))?;
        let status = answer.status();
        if status == StatusCode::OK {
            return Ok(answer);
        }
        self.forget_client();
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = answer.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() as u64 > SAID_BYTES {
                break;
            }
        }
        let said: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let said = said["msg"].as_str().unwrap_or_default();
        Err(RemoteServerError::Refused {
            url: url.clone(),
            status,
            said: said.chars().take(SAID_CHARS).collect(),
        })
    }

    async fn read_body(
        &self,
        url: &Url,
        answer: reqwest::Result<Response>,
        most_bytes: u64,
    ) -> Result<Vec<u8>, RemoteServerError> {
        let mut answer = self.send_checked(url, answer).await?;
        let mut body = Vec::new();
        while let Some(chunk) = self.read_chunk(url, &mut answer).await? {
            body.extend_from_slice(&chunk);
            if body.len() as u64 > most_bytes {
                return Err(RemoteServerError::Unexpected {
                    url: url.clone(),
                    why: format!("more than {most_bytes} bytes"),
                });
            }
        }
        Ok(body)
    }

    async fn read_chunk(
        &self,
        url: &Url,
        answer: &mut Response,
    ) -> Result<Option<impl AsRef<[u8]> + std::ops::Deref<Target = [u8]> + use<>>, RemoteServerError>
    {
        let chunk = answer.chunk().await;
        chunk.map_err(|error| self.unreachable(url, error))
    }

    fn unreachable(&self, url: &Url, error: reqwest::Error) -> RemoteServerError {
        self.forget_client();
        RemoteServerError::Unreachable {
            url: url.clone(),
            why: chain(&error.without_url()),
        }
    }
}
