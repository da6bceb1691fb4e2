//! `[directories]` of `tutti.toml`: external directories of users. Main type:
//! [`DirectoriesSection`].

use std::path::PathBuf;

use api_types::rbac::LdapSettings;
use serde::Deserialize;

/// External sources of users.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DirectoriesSection {
    /// Seconds until an LDAP directory is queried again about a user with a valid token.
    pub recheck_s: u64,
    /// LDAP directories, queried in this order, before those that are set over the API.
    pub ldap: Vec<LdapSection>,
    /// The OpenID Connect provider; `None` if there is none.
    pub oidc: Option<OpenIdConnectSection>,
}

/// Settings of an LDAP directory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LdapSection {
    /// File whose first line is the password of `settings.login`.
    pub password_file: Option<PathBuf>,
    /// The CA's certificates; those of the machine if absent.
    pub ca_file: Option<PathBuf>,
    /// Settings with the names of the API.
    pub settings: LdapSettings,
}

/// Settings of an OpenID Connect provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenIdConnectSection {
    pub issuer: String,
    pub client_id: String,
    /// File whose first line is the client's secret; without a file the client is public.
    pub client_secret_file: Option<PathBuf>,
    /// `https://THIS_SERVER:8143/rbac-api/v1/auth/oidc/callback`; browsers cannot log in without
    /// it.
    pub redirect_uri: Option<String>,
    /// True if `tutti login --oidc` is enabled.
    #[serde(default = "yes")]
    pub loopback: bool,
    /// Scopes requested in addition to `openid`.
    pub scopes: Option<Vec<String>>,
    pub login_claim: Option<String>,
    pub groups_claim: Option<String>,
    pub ca_file: Option<PathBuf>,
    /// The longest lifetime of the resulting tokens, in seconds.
    pub max_lifetime_s: Option<u64>,
}

fn yes() -> bool {
    true
}

impl Default for DirectoriesSection {
    fn default() -> Self {
        Self {
            recheck_s: external_directories::defaults::RECHECK.as_secs(),
            ldap: Vec::new(),
            oidc: None,
        }
    }
}

impl DirectoriesSection {
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(1..=86_400).contains(&self.recheck_s) {
            return Err("directories.recheck_s must be from 1 to 86400 (a day)".to_owned());
        }
        let has_text = |one: &LdapSection| {
            one.settings.password.is_some() || one.settings.ca_certificates.is_some()
        };
        if self.ldap.iter().any(has_text) {
            return Err(
                "directories.ldap: name password_file and ca_file beside settings, not the \
                 password and ca_certificates in it"
                    .to_owned(),
            );
        }
        let lacks_password = |one: &LdapSection| {
            let login = one.settings.login.as_deref();
            login.is_some_and(|login| !login.is_empty()) && one.password_file.is_none()
        };
        if self.ldap.iter().any(lacks_password) {
            return Err(
                "directories.ldap: settings.login needs its password; name a file with it in \
                 password_file"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Paths that may be relative to the configuration's directory.
    pub(crate) fn paths(&mut self) -> Vec<&mut PathBuf> {
        let mut paths = Vec::new();
        for one in &mut self.ldap {
            paths.extend(one.password_file.as_mut());
            paths.extend(one.ca_file.as_mut());
        }
        if let Some(oidc) = &mut self.oidc {
            paths.extend(oidc.client_secret_file.as_mut());
            paths.extend(oidc.ca_file.as_mut());
        }
        paths
    }
}
