//! Users who live elsewhere: the section `[directories]` of the configuration ([`Directories`]),
//! and what is made of it ([`open`], [`recheck`]).

use std::path::{Path, PathBuf};
use std::time::Duration;

use access_directory::{Oidc, OidcConfig, Recheck};
use anyhow::{Context as _, Result};
use api_types::rbac::LdapSettings;
use pki::seal::SealKey;
use secrecy::SecretString;
use serde::Deserialize;
use store::Store;

use crate::config::Config;

/// Where users come from beside this server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Directories {
    /// Seconds until an LDAP directory is asked again about a user with a good token.
    pub recheck_s: u64,
    /// LDAP directories, asked in this order, before those that are set over the API.
    pub ldap: Vec<Ldap>,
    /// An identity provider.
    pub oidc: Option<OpenIdConnect>,
}

/// An LDAP directory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ldap {
    /// The first line is the password of `settings.login`.
    pub password_file: Option<PathBuf>,
    /// The CA's certificates; those of the machine when absent.
    pub ca_file: Option<PathBuf>,
    /// By the names of the API.
    pub settings: LdapSettings,
}

/// An identity provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenIdConnect {
    pub issuer: String,
    pub client_id: String,
    /// The first line is the client's secret; without a file it is a public client.
    pub client_secret_file: Option<PathBuf>,
    /// `https://THIS_SERVER:8143/rbac-api/v1/auth/oidc/callback`; browsers cannot log in without.
    pub redirect_uri: Option<String>,
    /// Whether `tutti login --oidc` works.
    #[serde(default = "yes")]
    pub loopback: bool,
    /// Beside `openid`.
    pub scopes: Option<Vec<String>>,
    pub login_claim: Option<String>,
    pub groups_claim: Option<String>,
    pub ca_file: Option<PathBuf>,
    /// The longest life of a token that comes of it.
    pub max_lifetime_s: Option<u64>,
}

fn yes() -> bool {
    true
}

impl Default for Directories {
    fn default() -> Self {
        Self {
            recheck_s: access_directory::defaults::RECHECK.as_secs(),
            ldap: Vec::new(),
            oidc: None,
        }
    }
}

impl Directories {
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(1..=86_400).contains(&self.recheck_s) {
            return Err("directories.recheck_s must be from 1 to 86400 (a day)".to_owned());
        }
        let has_text =
            |one: &Ldap| one.settings.password.is_some() || one.settings.ca_certificates.is_some();
        if self.ldap.iter().any(has_text) {
            return Err(
                "directories.ldap: name password_file and ca_file beside settings, not the \
                 password and ca_certificates in it"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// What may be relative to the configuration's directory.
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

/// Reads the directories, and the provider's settings. Nobody is asked yet.
pub(crate) async fn open(config: &Config, store: Store) -> Result<api::Elsewhere> {
    let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
    let fixed = config.directories.ldap.iter().map(ldap);
    let fixed = fixed.collect::<Result<Vec<_>>>()?;
    let directories = access_directory::Directories::open(store, seal, fixed);
    let oidc = config.directories.oidc.as_ref();
    Ok(api::Elsewhere {
        directories: directories
            .await
            .context("cannot use the LDAP directories")?,
        oidc: oidc.map(provider).transpose().context("directories.oidc")?,
    })
}

/// Asks the directories again about users with good tokens.
pub(crate) fn recheck(
    config: &Config,
    access: &access::Access,
    elsewhere: &api::Elsewhere,
) -> Recheck {
    let interval = Duration::from_secs(config.directories.recheck_s);
    Recheck::start(access.clone(), elsewhere.directories.clone(), interval)
}

fn ldap(given: &Ldap) -> Result<LdapSettings> {
    let mut settings = given.settings.clone();
    if let Some(path) = &given.password_file {
        settings.password = Some(first_line(path)?);
    }
    settings.ca_certificates = given.ca_file.as_deref().map(text).transpose()?;
    Ok(settings)
}

fn provider(given: &OpenIdConnect) -> Result<Oidc> {
    let mut config = OidcConfig::new(&given.issuer, &given.client_id);
    let secret = given.client_secret_file.as_deref().map(first_line);
    config.client_secret = secret.transpose()?.map(SecretString::from);
    config.redirect_uri.clone_from(&given.redirect_uri);
    config.loopback = given.loopback;
    config.ca_certificates = given.ca_file.as_deref().map(text).transpose()?;
    if let Some(scopes) = &given.scopes {
        config.scopes.clone_from(scopes);
    }
    if let Some(claim) = &given.login_claim {
        config.login_claim.clone_from(claim);
    }
    if let Some(claim) = &given.groups_claim {
        config.groups_claim.clone_from(claim);
    }
    if let Some(seconds) = given.max_lifetime_s {
        config.max_lifetime = Duration::from_secs(seconds.max(1));
    }
    Ok(Oidc::new(config)?)
}

fn first_line(path: &Path) -> Result<String> {
    Ok(text(path)?.lines().next().unwrap_or_default().to_owned())
}

fn text(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
