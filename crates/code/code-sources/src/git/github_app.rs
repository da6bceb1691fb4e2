//! Tokens of a GitHub App for repositories: [`GithubApps`], like r10k's `github_app_id`.
//!
//! The App authenticates with a signed JWT; GitHub returns a token of its installation at the
//! repository's owner, valid for an hour. Invariants: the JWT is sent only to github.com, and hosts
//! that the settings name, since it permits everything that the App may do; a token is renewed
//! before it can expire during an operation of git.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::{Client, Method, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;

use super::app_key::{self, AppKeyError};
use crate::defaults::{
    GITHUB_ABSENT, GITHUB_ANSWER_BYTES, GITHUB_ATTEMPTS, GITHUB_BACKOFF, GITHUB_OWNERS,
    GITHUB_SPARE, GITHUB_TIMEOUT,
};
use crate::http;

/// Cache of tokens that remain valid for a while. Cheap to clone; clones share the cache.
#[derive(Clone, Debug, Default)]
pub struct GithubApps {
    owners: Arc<Mutex<HashMap<AppTokenKey, CachedAppToken>>>,
}

/// A GitHub App from the settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GithubApp {
    pub(super) id: String,
    /// The file with its private key.
    pub(super) key: PathBuf,
    /// Validity of what it signs.
    pub(super) ttl: Duration,
    /// Proxy, as in [`GitAccess`](super::GitAccess).
    pub(super) proxy: Option<String>,
}

/// Key of the cache: the App and the owner of the repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AppTokenKey {
    app: GithubApp,
    api: Url,
    owner: String,
}

/// Value of the cache, locked during a request.
type CachedAppToken = Arc<tokio::sync::Mutex<Option<InstallationAccess>>>;

#[derive(Clone, Debug)]
enum InstallationAccess {
    Token { token: SecretString, end: Timestamp },
    Absent { since: Instant },
}

/// The error of getting a token.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The App's key cannot be used.
    #[error(transparent)]
    Key(#[from] AppKeyError),
    /// The HTTP client cannot be created.
    #[error("no HTTP client can be made: {0}")]
    Client(String),
    /// GitHub did not answer.
    #[error("{url} cannot be asked: {why}")]
    Unreachable {
        /// URL of the request.
        url: String,
        /// The chain of causes.
        why: String,
    },
    /// GitHub does not accept the App.
    #[error(
        "{url} answers 401 Unauthorized{said}; compare github_app_id with the App's ID, {} with its keys, and this \
         machine's clock with the time", key.display()
    )]
    AppRejected {
        /// URL of the request.
        url: String,
        /// GitHub's message.
        said: String,
        /// The key file of the App.
        key: PathBuf,
    },
    /// GitHub refuses the request.
    #[error("{url} answers {status}{said}")]
    Refused {
        /// URL of the request.
        url: String,
        /// Status of the answer.
        status: StatusCode,
        /// GitHub's message.
        said: String,
    },
    /// An answer of GitHub is invalid.
    #[error("{url} answers what GitHub does not: {why}")]
    Answer {
        /// URL of the request.
        url: String,
        /// Description of the error.
        why: String,
    },
}

#[derive(serde::Deserialize)]
struct AppInstallation {
    id: u64,
}

#[derive(serde::Deserialize)]
struct IssuedToken {
    token: String,
    expires_at: Timestamp,
}

// === impl GithubApps ===

impl GithubApps {
    /// A token for a repository; `None`: the App is not installed at its owner, or the settings
    /// name another server. `is_named` is true if they name an App for the repository's server.
    pub(super) async fn token(
        &self,
        app: &GithubApp,
        remote: &str,
        is_named: bool,
    ) -> Result<Option<SecretString>, AppError> {
        let Some((api, owner)) = api_and_owner(remote, is_named) else {
            return Ok(None);
        };
        let question = AppTokenKey {
            app: app.clone(),
            api,
            owner,
        };
        let answer = self.cached_token(&question);
        let mut known = answer.lock().await;
        let fresh = match known.take() {
            Some(known) if known.is_good() => known,
            _ => question.request_access().await?,
        };
        let token = match &fresh {
            InstallationAccess::Token { token, .. } => Some(token.clone()),
            InstallationAccess::Absent { .. } => None,
        };
        *known = Some(fresh);
        Ok(token)
    }

    fn cached_token(&self, question: &AppTokenKey) -> CachedAppToken {
        let owners = self.owners.lock();
        let mut owners = owners.unwrap_or_else(PoisonError::into_inner);
        if owners.len() >= GITHUB_OWNERS && !owners.contains_key(question) {
            owners.clear();
        }
        Arc::clone(owners.entry(question.clone()).or_default())
    }
}

// === impl InstallationAccess ===

impl InstallationAccess {
    fn is_good(&self) -> bool {
        match self {
            Self::Token { end, .. } => {
                let left = end.duration_since(Timestamp::now());
                Duration::try_from(left).is_ok_and(|left| left > GITHUB_SPARE)
            }
            Self::Absent { since } => since.elapsed() < GITHUB_ABSENT,
        }
    }
}

// === impl AppTokenKey ===

impl AppTokenKey {
    async fn request_access(&self) -> Result<InstallationAccess, AppError> {
        let signed = app_key::sign_app_jwt(&self.app.id, &self.app.key, self.app.ttl).await?;
        let client = self.client().map_err(AppError::Client)?;
        let Some(installation) = self.find_installation(&client, &signed).await? else {
            let since = Instant::now();
            return Ok(InstallationAccess::Absent { since });
        };
        let id = installation.id.to_string();
        let path = ["app", "installations", &id, "access_tokens"];
        let made: IssuedToken = self.request(&client, &signed, Method::POST, &path).await?;
        Ok(InstallationAccess::Token {
            token: made.token.into(),
            end: made.expires_at,
        })
    }

    /// Finds the App's installation at an organization, or at a user.
    async fn find_installation(
        &self,
        client: &Client,
        signed: &SecretString,
    ) -> Result<Option<AppInstallation>, AppError> {
        for kind in ["orgs", "users"] {
            let path = [kind, &self.owner, "installation"];
            match self.request(client, signed, Method::GET, &path).await {
                Err(AppError::Refused { status, .. }) if status == StatusCode::NOT_FOUND => {}
                found => return found.map(Some),
            }
        }
        Ok(None)
    }

    fn client(&self) -> Result<Client, String> {
        // No redirects: the signed JWT is for this host only.
        let builder = http::client_builder()?;
        let builder = http::proxied(builder, self.app.proxy.as_deref())?;
        let client = builder.timeout(GITHUB_TIMEOUT).build();
        client.map_err(|error| error_causes::chain(&error))
    }

    /// Sends a request, and retries if that may help.
    async fn request<T: DeserializeOwned>(
        &self,
        client: &Client,
        signed: &SecretString,
        method: Method,
        path: &[&str],
    ) -> Result<T, AppError> {
        let mut url = self.api.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let mut backoff = GITHUB_BACKOFF;
        for _ in 1..GITHUB_ATTEMPTS {
            match self.request_once(client, signed, &method, &url).await {
                Err(error) if error.is_temporary() => tokio::time::sleep(backoff).await,
                answered => return answered,
            }
            backoff *= 2;
        }
        self.request_once(client, signed, &method, &url).await
    }

    async fn request_once<T: DeserializeOwned>(
        &self,
        client: &Client,
        signed: &SecretString,
        method: &Method,
        url: &Url,
    ) -> Result<T, AppError> {
        let shown = url.to_string();
        let broken = |error: reqwest::Error| AppError::Unreachable {
            url: shown.clone(),
            why: error_causes::chain(&error.without_url()),
        };
        let request = client.request(method.clone(), url.clone());
        let request = request
            .bearer_auth(signed.expose_secret())
            .header("accept", "application/vnd.github+json");
        let mut answer = request.send().await.map_err(broken)?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(broken)? {
            body.extend_from_slice(&chunk);
            if body.len() > GITHUB_ANSWER_BYTES {
                let why = format!("more than {GITHUB_ANSWER_BYTES} bytes");
                return Err(AppError::Answer { url: shown, why });
            }
        }
        match answer.status() {
            status if status.is_success() => {
                decode_errors::json::from_slice(&body).map_err(|error| AppError::Answer {
                    url: shown,
                    why: error.to_string(),
                })
            }
            StatusCode::UNAUTHORIZED => Err(AppError::AppRejected {
                url: shown,
                said: http::describe_body(&body),
                key: self.app.key.clone(),
            }),
            status => Err(AppError::Refused {
                url: shown,
                status,
                said: http::describe_body(&body),
            }),
        }
    }
}

// === impl AppError ===

impl AppError {
    fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => {
                *status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
            }
            _ => false,
        }
    }
}

/// URL of the API for a repository, and the repository's owner; `None` if the settings do not name
/// its server as a GitHub.
fn api_and_owner(remote: &str, is_named: bool) -> Option<(Url, String)> {
    let url: Url = remote.parse().ok()?;
    let owner = url.path_segments()?.next()?.to_ascii_lowercase();
    let is_sign = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if owner.is_empty() || !owner.bytes().all(is_sign) {
        return None;
    }
    let is_public = url.scheme() == "https" && url.port().is_none();
    let api = match url.host_str()? {
        "github.com" if is_public => "https://api.github.com/".parse().ok()?,
        _ if is_named => {
            let mut api = url.clone();
            api.set_path("/api/v3/");
            api.set_query(None);
            api.set_fragment(None);
            api
        }
        _ => return None,
    };
    Some((api, owner))
}

/// Returns the reason that a repository is accessed without a token, for messages to users.
pub(super) fn describe_missing_installation(id: &str) -> String {
    format!(
        "it was asked without a token: the GitHub App {id} is not installed at its owner, or is not meant for its server"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_app_signs_goes_to_github_and_to_hosts_that_are_named() {
        let of = |remote: &str, is_named| {
            let place = api_and_owner(remote, is_named);
            place.map(|(api, owner)| (api.to_string(), owner))
        };
        let pair = |api: &str| Some((api.to_owned(), "ops".to_owned()));
        let github = pair("https://api.github.com/");
        assert_eq!(of("https://github.com/Ops/control.git", false), github);
        assert_eq!(of("https://github.com/ops/control", true), github);
        let own = "https://git.example.com:8443/ops/control.git?x=y#z";
        assert_eq!(of(own, true), pair("https://git.example.com:8443/api/v3/"));
        for stranger in [
            own,
            "https://github.com.example.com/ops/x",
            "https://github.com:8443/ops/x",
            "http://github.com/ops/x",
            "https://github.com@example.com/ops/x",
            "https://github.com/..%2fops/x",
            "https://github.com/",
            "git@github.com:ops/x",
            "/srv/ops/x",
        ] {
            assert_eq!(of(stranger, false), None, "{stranger}");
        }
    }
}
