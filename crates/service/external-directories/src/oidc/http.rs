//! HTTP client for the provider: [`ProviderClient`].
//!
//! Invariants: redirects are not followed, responses are bounded in size and time, and error
//! messages of the provider are shown in one short line.

use error_causes::ConnectionError;
use http_client::BodyError;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::flows::LoginFlow;
use super::provider::ProviderEndpoints;
use super::{OidcConfig, OidcError};
use crate::defaults::{PROVIDER_BODY_BYTES, PROVIDER_REQUEST, SHOWN_CHARS};
use crate::tls_roots;

#[derive(Clone, Debug)]
pub(super) struct ProviderClient(Client);

#[derive(Deserialize)]
struct TokenResponse {
    id_token: String,
}

#[derive(Default, Deserialize)]
struct TokenErrorResponse {
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

// === impl ProviderClient ===

impl ProviderClient {
    pub(super) fn new(pem: Option<&str>) -> Result<Self, String> {
        let tls = tls_roots::client_config(pem).map_err(|error| error.to_string())?;
        let client = http_client::builder(tls)
            .timeout(PROVIDER_REQUEST)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self(client))
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, url: &Url) -> Result<T, OidcError> {
        let (status, body) = self.send(url, self.0.get(url.clone())).await?;
        if status != StatusCode::OK {
            return Err(unavailable_error(url, &format!("HTTP {status}")));
        }
        decode(url, &body)
    }

    /// Exchanges a code for the ID token.
    pub(super) async fn exchange(
        &self,
        config: &OidcConfig,
        client_secret: Option<&SecretString>,
        endpoints: &ProviderEndpoints,
        flow: &LoginFlow,
        code: &SecretString,
    ) -> Result<SecretString, OidcError> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.expose_secret()),
            ("redirect_uri", &flow.redirect_uri),
            ("code_verifier", flow.verifier.expose_secret()),
            ("client_id", &config.client_id),
        ];
        let mut request = self.0.post(endpoints.token.clone());
        if let Some(secret) = client_secret {
            if endpoints.secret_in_body {
                form.push(("client_secret", secret.expose_secret()));
            } else {
                let secret = percent_encode(secret.expose_secret());
                request = request.basic_auth(percent_encode(&config.client_id), Some(secret));
            }
        }
        let request = request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form_text(&form));
        let (status, body) = self.send(&endpoints.token, request).await?;
        if status.is_success() {
            let exchanged: TokenResponse = decode(&endpoints.token, &body)?;
            return Ok(SecretString::from(exchanged.id_token));
        }
        let refusal: TokenErrorResponse = serde_json::from_slice(&body).unwrap_or_default();
        let words = format!("{} {}", refusal.error, refusal.error_description);
        match status.is_client_error() {
            true => Err(OidcError::Refused(format!(
                "{} (HTTP {status})",
                to_one_line(&words)
            ))),
            false => Err(unavailable_error(
                &endpoints.token,
                &format!("HTTP {status}"),
            )),
        }
    }

    async fn send(
        &self,
        url: &Url,
        request: RequestBuilder,
    ) -> Result<(StatusCode, Vec<u8>), OidcError> {
        let request = request.header("accept", "application/json");
        let failed = |error: reqwest::Error| {
            unavailable_error(url, &ConnectionError::from_error(&error).to_string())
        };
        let mut response = request.send().await.map_err(failed)?;
        let body = http_client::read_body(&mut response, PROVIDER_BODY_BYTES).await;
        let body = body.map_err(|error| match error {
            BodyError::TooLarge(_) => unavailable_error(url, "its answer is too large"),
            BodyError::Broken(error) => failed(error),
        })?;
        Ok((response.status(), body))
    }
}

fn decode<T: DeserializeOwned>(url: &Url, body: &[u8]) -> Result<T, OidcError> {
    let decoded = serde_json::from_slice(body);
    // Without the error's text, which may repeat a part of a token.
    decoded.map_err(|_| unavailable_error(url, "its answer is not what OpenID Connect asks for"))
}

pub(super) fn unavailable_error(url: &Url, what: &str) -> OidcError {
    let host = url.host_str().unwrap_or_default();
    OidcError::Unavailable(format!("{host}{}: {}", url.path(), to_one_line(what)))
}

pub(super) fn to_one_line(words: &str) -> String {
    let words = words.chars().take(SHOWN_CHARS);
    let words: String = words
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    words.trim().to_owned()
}

fn form_text(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs
        .iter()
        .map(|(name, value)| (percent_encode(name), percent_encode(value)));
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join("&")
}

fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(char::from(HEX[usize::from(byte >> 4)]));
                out.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
    out
}
