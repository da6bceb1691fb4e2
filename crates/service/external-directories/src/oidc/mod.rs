//! Users of an identity provider, by `OpenID` Connect: [`OidcProvider`].
//!
//! | module | what for |
//! |---|---|
//! | [`flows`] | logins that were begun |
//! | [`provider`] | the provider's addresses and keys |
//! | [`http`] | bounded requests to it |
//! | [`claims`] | whether an ID token is one, and whose |
//!
//! The authorization code flow with PKCE. Two faces: a browser that comes back to this server,
//! and a program that listens on its own loopback address. The rules: a login that was begun ends
//! once, soon, and only by who began it (he alone has the handle); the browser is sent only to
//! addresses of the configuration or to loopback; and nothing is believed of an ID token before
//! its signature, issuer, audience, times and nonce are right.

mod claims;
mod config;
mod flows;
mod http;
mod provider;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use optional_feature::{Feature, FeatureFault};
use rand::Rng as _;
use rbac::RemoteUser;
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

pub use config::{OidcConfig, OidcConfigError};

use crate::defaults::QUESTIONS_AT_ONCE;
use flows::{LoginFlow, LoginFlows};
use http::ProviderClient;
use provider::ProviderMetadata;

/// An identity provider. Cheap to clone.
#[derive(Clone, Debug)]
pub struct OidcProvider {
    inner: Arc<OidcState>,
}

#[derive(Debug)]
struct OidcState {
    config: OidcConfig,
    secrets: Feature<OidcSecrets>,
    provider: ProviderMetadata,
    flows: Mutex<LoginFlows>,
    questions: Semaphore,
}

/// Secret of the client and trusted CAs of the provider.
#[derive(Debug)]
pub struct OidcSecrets {
    client_secret: Option<SecretString>,
    http: ProviderClient,
}

// === impl OidcSecrets ===

impl OidcSecrets {
    /// `client_secret` is `None` for a public client, which PKCE alone protects; `ca_certificates` in PEM, those of the
    /// machine if `None`. The error says what is wrong with the certificates.
    pub fn new(
        client_secret: Option<SecretString>,
        ca_certificates: Option<&str>,
    ) -> Result<Self, String> {
        Ok(Self {
            client_secret,
            http: ProviderClient::new(ca_certificates)?,
        })
    }
}

/// Where the provider sends the browser afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OidcRedirect {
    /// To this server.
    Web,
    /// To a program on the user's own machine: `http://127.0.0.1:PORT/callback`.
    Loopback(String),
}

/// A login that was begun.
#[derive(Debug)]
pub struct StartedLogin {
    /// Where the browser is to go.
    pub authorization_url: String,
    /// What it comes back with.
    pub state: String,
    /// What who began it shows to end it, and nobody else has.
    pub handle: SecretString,
}

/// Why a login by the provider did not take place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    /// Not an address to come back to.
    #[error(
        "{0:?} is no address to come back to: http://127.0.0.1:PORT/callback is, and the one of the configuration"
    )]
    Redirect(String),
    /// Programs, or browsers, cannot log in so.
    #[error("the configuration does not permit this way: {0}")]
    NotConfigured(&'static str),
    /// Unknown, used, too old, or somebody else's.
    #[error(
        "this login was not begun here, has ended, or took longer than 10 minutes; begin again"
    )]
    Flow,
    /// The provider says no.
    #[error("the identity provider refuses the login: {0}")]
    Refused(String),
    /// The provider is not there, or does not answer as it should.
    #[error("the identity provider cannot be asked: {0}")]
    Unavailable(String),
    /// The token is not for us, or not genuine.
    #[error("the identity provider's token is not accepted: {0}")]
    Token(String),
}

/// Bytes of chance in states, nonces and handles: 43 characters.
const RANDOM_BYTES: usize = 32;

// === impl OidcProvider ===

impl OidcProvider {
    /// Checks the configuration; the provider is not asked yet. While the secrets cannot be read, each login is
    /// answered with the reason.
    pub fn new(config: OidcConfig, secrets: Feature<OidcSecrets>) -> Result<Self, OidcConfigError> {
        config.check()?;
        Ok(Self {
            inner: Arc::new(OidcState {
                provider: ProviderMetadata::new(config.issuer.clone()),
                config,
                secrets,
                flows: Mutex::default(),
                questions: Semaphore::new(QUESTIONS_AT_ONCE),
            }),
        })
    }

    /// The longest life of a token that comes of it.
    pub fn max_lifetime(&self) -> Duration {
        self.inner.config.max_lifetime
    }

    /// Begins a login.
    pub async fn start(&self, redirect: OidcRedirect) -> Result<StartedLogin, OidcError> {
        let OidcState { config, .. } = &*self.inner;
        let redirect_uri = config.redirect_uri(redirect)?;
        let http = &self.inner.secrets()?.http;
        let endpoints = self.inner.provider.endpoints(http).await?;
        let (state, nonce, verifier, handle) =
            (random_text(), random_text(), random_text(), random_text());
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let mut url = endpoints.authorization.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &config.client_id)
            .append_pair("redirect_uri", &redirect_uri)
            .append_pair("scope", &config.scope())
            .append_pair("state", &state)
            .append_pair("nonce", &nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        let flow = LoginFlow {
            handle: digest_secret(&handle),
            nonce,
            verifier: SecretString::from(verifier),
            redirect_uri,
        };
        self.flows()
            .begin(digest_secret(&state), flow, Instant::now());
        Ok(StartedLogin {
            authorization_url: url.into(),
            state,
            handle: SecretString::from(handle),
        })
    }

    /// Origin of the provider's users: `oidc:` and the issuer.
    pub fn origin(&self) -> String {
        self.inner.config.origin()
    }

    /// Ends a login with the code that the browser came back with.
    pub async fn finish(
        &self,
        state: &str,
        handle: &SecretString,
        code: &SecretString,
    ) -> Result<RemoteUser, OidcError> {
        let handle = digest_secret(handle.expose_secret());
        let flow = self.flows().take(&digest_secret(state), Instant::now());
        let flow = flow.filter(|flow| flow.handle == handle);
        let flow = flow.ok_or(OidcError::Flow)?;
        let OidcState {
            config, provider, ..
        } = &*self.inner;
        let OidcSecrets {
            client_secret,
            http,
        } = self.inner.secrets()?;
        let _turn = self.inner.questions.try_acquire().map_err(|_| {
            OidcError::Unavailable("too many logins wait for it already".to_owned())
        })?;
        let endpoints = provider.endpoints(http).await?;
        let token = http.exchange(config, client_secret.as_ref(), &endpoints, &flow, code);
        let token = token.await?;
        let header = claims::read_header(&token)?;
        let keys = provider.keys(http, &endpoints, &header).await?;
        claims::verify_token(config, &token, &header, &keys, &flow.nonce)
    }

    fn flows(&self) -> MutexGuard<'_, LoginFlows> {
        self.inner
            .flows
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl OidcState ===

impl OidcState {
    /// Logins come without a token, so the reason names no path.
    fn secrets(&self) -> Result<&OidcSecrets, OidcError> {
        let unavailable = |fault: FeatureFault| OidcError::Unavailable(fault.to_public_message());
        self.secrets.get().map_err(unavailable)
    }
}

fn random_text() -> String {
    let mut bytes = [0; RANDOM_BYTES];
    rand::rng().fill_bytes(&mut bytes);
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// Secrets are kept and compared as these, so that the time of it tells nothing.
fn digest_secret(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Whether passwords and codes may be sent there.
fn is_safe(url: &Url) -> bool {
    let is_loopback = || match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let address: Option<std::net::IpAddr> = host.parse().ok();
            address.is_some_and(|address| address.is_loopback())
        }
        None => false,
    };
    let plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    plain && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback()))
}
