//! Configuration of the identity provider: [`OidcConfig`].

use std::time::Duration;

use reqwest::Url;

use super::{OidcError, OidcRedirect, is_safe};
use crate::defaults::OIDC_LIFETIME;

/// Settings of an identity provider.
#[derive(Clone, Debug)]
pub struct OidcConfig {
    /// URL of the provider, in the spelling of its tokens.
    pub issuer: String,
    /// Id of this server as a client of the provider.
    pub client_id: String,
    /// URL to which browsers return; `None` if browsers cannot log in with this provider.
    pub redirect_uri: Option<String>,
    /// True if programs on the users' machines can log in.
    pub loopback: bool,
    /// Requested scopes besides `openid`.
    pub scopes: Vec<String>,
    /// Name of the claim with the login.
    pub login_claim: String,
    /// Name of the claim with the groups.
    pub groups_claim: String,
    /// Maximum lifetime of tokens issued after a login.
    pub max_lifetime: Duration,
}

/// Cause for which the configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OidcConfigError {
    /// A URL is invalid or unencrypted.
    #[error("{place}: {url:?} is no https:// URL (http:// only on this machine)")]
    Url {
        /// Key of the setting.
        place: &'static str,
        /// The configured URL.
        url: String,
    },
    /// A setting is empty; its key.
    #[error("{0} is empty")]
    Empty(&'static str),
}

// === impl OidcConfig ===

impl OidcConfig {
    /// Default names of claims and scopes, for programs only.
    pub fn new(issuer: &str, client_id: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            redirect_uri: None,
            loopback: true,
            scopes: ["profile", "email"].map(str::to_owned).to_vec(),
            login_claim: "preferred_username".to_owned(),
            groups_claim: "groups".to_owned(),
            max_lifetime: OIDC_LIFETIME,
        }
    }

    pub(super) fn check(&self) -> Result<(), OidcConfigError> {
        let safe = |place, url: &str| match Url::parse(url) {
            Ok(parsed) if is_safe(&parsed) => Ok(()),
            _ => Err(OidcConfigError::Url {
                place,
                url: url.to_owned(),
            }),
        };
        safe("issuer", &self.issuer)?;
        if let Some(url) = &self.redirect_uri {
            safe("redirect_uri", url)?;
        }
        let names = [
            ("client_id", &self.client_id),
            ("login_claim", &self.login_claim),
            ("groups_claim", &self.groups_claim),
        ];
        match names.iter().find(|(_, text)| text.trim().is_empty()) {
            Some((place, _)) => Err(OidcConfigError::Empty(place)),
            None => Ok(()),
        }
    }

    /// Origin (`oidc:ISSUER`) of the users of this provider.
    pub(super) fn origin(&self) -> String {
        format!("oidc:{}", self.issuer)
    }

    pub(super) fn scope(&self) -> String {
        let mut scope = "openid".to_owned();
        for one in &self.scopes {
            scope.push(' ');
            scope.push_str(one);
        }
        scope
    }

    /// The URL to return to; an error if the configuration does not permit it.
    pub(super) fn redirect_uri(&self, redirect: OidcRedirect) -> Result<String, OidcError> {
        match redirect {
            OidcRedirect::Web => self
                .redirect_uri
                .clone()
                .ok_or(OidcError::NotConfigured("redirect_uri is not set")),
            OidcRedirect::Loopback(_) if !self.loopback => {
                Err(OidcError::NotConfigured("loopback is off"))
            }
            OidcRedirect::Loopback(url) => match is_callback(&url) {
                true => Ok(url),
                false => Err(OidcError::Redirect(url.chars().take(100).collect())),
            },
        }
    }
}

/// True for exactly `http://127.0.0.1:PORT/callback` or `http://[::1]:PORT/callback`. The text
/// itself is compared, since programs differ in parsing unusual URLs.
fn is_callback(url: &str) -> bool {
    let rest = url.strip_prefix("http://127.0.0.1:");
    let rest = rest.or_else(|| url.strip_prefix("http://[::1]:"));
    let port = rest.and_then(|rest| rest.strip_suffix("/callback"));
    let digits = port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    digits
        .and_then(|port| port.parse::<u16>().ok())
        .is_some_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_an_address_to_come_back_to() {
        let config = OidcConfig::new("https://id.example", "tutti");
        let come_back = |url: &str| config.redirect_uri(OidcRedirect::Loopback(url.to_owned()));
        for good in ["http://127.0.0.1:49152/callback", "http://[::1]:1/callback"] {
            assert_eq!(come_back(good).unwrap(), good);
        }
        let bad = [
            "https://evil.example/callback",
            "http://127.0.0.1@evil.example:80/callback",
            "http://127.0.0.1:80@evil.example/callback",
            "http://127.0.0.1:80/callback/../x",
            "http://127.0.0.1:80/x/callback",
            "http://127.0.0.1:80/callback?x=1",
            "http://127.0.0.1:80\\@evil.example/callback",
            "http://127.0.0.1/callback",
            "http://127.0.0.1:0/callback",
            "http://127.0.0.1:99999/callback",
            "http://127.0.0.1:+80/callback",
            "http://localhost:80/callback",
            "HTTP://127.0.0.1:80/callback",
            "",
        ];
        for url in bad {
            assert!(
                matches!(come_back(url), Err(OidcError::Redirect(_))),
                "{url}"
            );
        }
    }

    #[test]
    fn urls_are_https_or_of_this_machine() {
        let checked = |issuer: &str| OidcConfig::new(issuer, "tutti").check();
        assert_eq!(checked("https://id.example/realm"), Ok(()));
        assert_eq!(checked("http://127.0.0.1:1"), Ok(()));
        for bad in [
            "http://id.example",
            "ftp://id.example",
            "x",
            "https://u:p@id.example",
        ] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }
}
