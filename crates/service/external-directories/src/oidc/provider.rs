//! Endpoints and keys of the provider: [`ProviderMetadata`].
//!
//! Invariants: the discovery document must be that of the configured issuer; endpoints and keys are
//! read again after [`PROVIDER_FRESH`]; an unknown key causes another read, at most once per
//! [`KEYS_AGAIN`], so that keys can change at any time and invented key ids do not flood the
//! provider.

use std::sync::Arc;
use std::time::Instant;

use jsonwebtoken::Header;
use jsonwebtoken::jwk::Jwk;
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

use super::http::{ProviderClient, unavailable_error};
use super::{OidcError, is_safe};
use crate::defaults::{KEYS_AGAIN, PROVIDER_FRESH, PROVIDER_KEYS};

#[derive(Debug)]
pub(super) struct ProviderMetadata {
    issuer: String,
    endpoints: Mutex<Option<DiscoveryResult>>,
    keys: Mutex<CachedKeys>,
}

/// Result of the last discovery, with its time.
type DiscoveryResult = (Result<Arc<ProviderEndpoints>, OidcError>, Instant);

#[derive(Debug, Default)]
struct CachedKeys {
    keys: Vec<Jwk>,
    read_at: Option<Instant>,
    /// Time of the last read because of an unknown key.
    refreshed_at: Option<Instant>,
}

/// Endpoints of the provider.
#[derive(Debug)]
pub(super) struct ProviderEndpoints {
    pub(super) authorization: Url,
    pub(super) token: Url,
    keys: Url,
    /// True if the provider accepts the client secret in the body only.
    pub(super) secret_in_body: bool,
}

#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

// === impl ProviderMetadata ===

impl ProviderMetadata {
    pub(super) fn new(issuer: String) -> Self {
        Self {
            issuer,
            endpoints: Mutex::default(),
            keys: Mutex::default(),
        }
    }

    pub(super) async fn endpoints(
        &self,
        http: &ProviderClient,
    ) -> Result<Arc<ProviderEndpoints>, OidcError> {
        // One task reads, the others wait for its result.
        let mut known = self.endpoints.lock().await;
        if let Some((found, at)) = &*known {
            // A failure is cached for a short time, too.
            let fresh = if found.is_ok() {
                PROVIDER_FRESH
            } else {
                KEYS_AGAIN
            };
            if at.elapsed() < fresh {
                return found.clone();
            }
        }
        let found = self.discover(http).await.map(Arc::new);
        *known = Some((found.clone(), Instant::now()));
        found
    }

    async fn discover(&self, http: &ProviderClient) -> Result<ProviderEndpoints, OidcError> {
        let base = self.issuer.trim_end_matches('/');
        let url = format!("{base}/.well-known/openid-configuration");
        let url = Url::parse(&url).map_err(|error| OidcError::Unavailable(error.to_string()))?;
        let document: DiscoveryDocument = http.get(&url).await?;
        if document.issuer != self.issuer {
            let what = "its document is that of another issuer; the issuer of the configuration \
                        must be the same to the letter";
            return Err(unavailable_error(&url, what));
        }
        let read = |text: &str| {
            let parsed = Url::parse(text).ok().filter(is_safe);
            parsed.ok_or_else(|| {
                unavailable_error(&url, "its document names an address without https")
            })
        };
        let methods = &document.token_endpoint_auth_methods_supported;
        let takes = |method: &str| methods.iter().any(|one| one == method);
        Ok(ProviderEndpoints {
            authorization: read(&document.authorization_endpoint)?,
            token: read(&document.token_endpoint)?,
            keys: read(&document.jwks_uri)?,
            secret_in_body: takes("client_secret_post") && !takes("client_secret_basic"),
        })
    }

    /// The keys that may have signed a token with this header.
    pub(super) async fn keys(
        &self,
        http: &ProviderClient,
        endpoints: &ProviderEndpoints,
        header: &Header,
    ) -> Result<Vec<Jwk>, OidcError> {
        let mut known = self.keys.lock().await;
        let now = Instant::now();
        let within = |at: Option<Instant>, limit| at.is_some_and(|at| now - at < limit);
        if within(known.read_at, PROVIDER_FRESH) {
            let found = matching_keys(&known.keys, header);
            if !found.is_empty() || within(known.refreshed_at, KEYS_AGAIN) {
                return Ok(found);
            }
            known.refreshed_at = Some(now);
        }
        let set: KeySet = http.get(&endpoints.keys).await?;
        // A key of an unknown kind is skipped.
        let keys = set.keys.into_iter().take(PROVIDER_KEYS);
        let keys = keys.filter_map(|key| serde_json::from_value(key).ok());
        known.keys = keys.collect();
        known.read_at = Some(now);
        Ok(matching_keys(&known.keys, header))
    }
}

/// Keys for signatures with the id in the header; all of them if it has none.
fn matching_keys(keys: &[Jwk], header: &Header) -> Vec<Jwk> {
    use jsonwebtoken::jwk::PublicKeyUse;
    let named = |key: &&Jwk| match &header.kid {
        Some(kid) => key.common.key_id.as_ref() == Some(kid),
        None => true,
    };
    let signs = |key: &&Jwk| {
        let usage = key.common.public_key_use.as_ref();
        usage.is_none_or(|usage| *usage == PublicKeyUse::Signature)
    };
    keys.iter().filter(named).filter(signs).cloned().collect()
}
