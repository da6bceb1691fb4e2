//! Users of an identity provider, by `OpenID` Connect: [`OidcProvider`].
//!
//! | module | content |
//! |---|---|
//! | [`flows`] | pending logins |
//! | [`provider`] | endpoints and keys of the provider |
//! | [`http`] | bounded requests to the provider |
//! | [`claims`] | verification of ID tokens |
//!
//! The authorization code flow with PKCE, for browsers that return to this server, and for programs
//! that listen on their own loopback address. Invariants: a login ends once, within
//! [`FLOW_LIFE`](crate::defaults::FLOW_LIFE), and only by the client that began it, which alone has
//! the handle; browsers are redirected only to the configured URL or to loopback; and no claim of
//! an ID token is used before its signature, issuer, audience, times and nonce are verified.

mod claims;
mod config;
mod error;
mod flows;
mod http;
mod provider;

pub use error::{OidcError, OidcRedirect};
use error::{digest_secret, is_safe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use optional_feature::{Feature, FeatureFault};
use rand::Rng as _;
use rbac::RemoteUser;
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
    /// `client_secret` is `None` for a public client, which only PKCE protects; `ca_certificates`
    /// is in PEM, and `None` for the CAs of the machine. The error describes the defect of the
    /// certificates.
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

/// A pending login, for the client that began it.
#[derive(Debug)]
pub struct StartedLogin {
    /// URL of the provider to open in the browser.
    pub authorization_url: String,
    /// State with which the browser returns.
    pub state: String,
    /// Secret that completes the login; only the client that began it has this.
    pub handle: SecretString,
}

/// Random bytes in states, nonces and handles: 43 characters each.
const RANDOM_BYTES: usize = 32;

// === impl OidcProvider ===

impl OidcProvider {
    /// Checks the configuration; the provider is not queried yet. While the secrets cannot be read,
    /// each login fails with the cause.
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

    /// Maximum lifetime of tokens issued after a login.
    pub fn max_lifetime(&self) -> Duration {
        self.inner.config.max_lifetime
    }

    /// Begins a login and returns the URL to open in the browser.
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

    /// Completes a login with the code that the browser returned with.
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
    /// Secrets of the client. Logins have no token yet, so the error contains no path.
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
