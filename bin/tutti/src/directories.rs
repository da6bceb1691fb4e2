//! External directories of users, opened as the configuration names them: [`open`], [`recheck`].

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use external_directories::{
    FixedDirectory, LdapSecrets, OidcConfig, OidcProvider, OidcSecrets, RemoteUserCheck,
};
use optional_feature::{Feature, FeatureStatus};
use pki::seal::SealKey;
use secrecy::SecretString;
use store::Store;

use crate::config::Config;
use crate::config::directories::{LdapSection, OpenIdConnectSection};
use crate::configured_file::{read_line, read_text};

/// Opened directories and provider of the configuration.
pub(crate) struct OpenDirectories {
    pub(crate) external_directories: api::ExternalDirectories,
    /// State of each directory and of the provider.
    pub(crate) features: Vec<FeatureStatus>,
}

/// Opens the directories and the provider; those whose files cannot be read stay in the list and
/// report the reason.
pub(crate) async fn open(config: &Config, store: Store) -> Result<OpenDirectories> {
    let seal = SealKey::open_or_create(&config.data_dir.join("seal.key"))?;
    let (mut fixed, mut features) = (Vec::new(), Vec::new());
    for (index, given) in config.directories.ldap.iter().enumerate() {
        let key = format!("directories.ldap[{index}]");
        let (directory, status) = ldap_directory(key, given).await?;
        fixed.push(directory);
        features.push(status);
    }
    let mut oidc = None;
    if let Some(given) = &config.directories.oidc {
        let (provider, status) = provider(given).await.context("directories.oidc")?;
        oidc = Some(provider);
        features.push(status);
    }
    let directories = external_directories::LdapDirectories::open(store, seal, fixed).await;
    let directories = directories.context("cannot use the LDAP directories")?;
    Ok(OpenDirectories {
        external_directories: api::ExternalDirectories { directories, oidc },
        features,
    })
}

/// Queries the directories again about users with valid tokens.
pub(crate) fn recheck(
    config: &Config,
    access: &rbac::Rbac,
    external_directories: &api::ExternalDirectories,
) -> RemoteUserCheck {
    let interval = Duration::from_secs(config.directories.recheck_s);
    RemoteUserCheck::start(
        access.clone(),
        external_directories.directories.clone(),
        interval,
    )
}

async fn ldap_directory(
    key: String,
    given: &LdapSection,
) -> Result<(FixedDirectory, FeatureStatus)> {
    let settings = given.settings.clone();
    let inability = format!(
        "this server cannot ask the LDAP directory {}",
        settings.hostname
    );
    let (named, place) = (given.clone(), key.clone());
    let read = move || ldap_secrets(&place, &named);
    let secrets = Feature::start_by_reading("ldap-service", &inability, read).await;
    let status = secrets.status();
    let directory = FixedDirectory::with_secrets(settings, secrets).context(key)?;
    Ok((directory, status))
}

fn ldap_secrets(key: &str, given: &LdapSection) -> Result<LdapSecrets, String> {
    let mut settings = given.settings.clone();
    if let Some(path) = &given.password_file {
        settings.password = Some(read_line(&format!("{key}.password_file"), path)?);
    }
    let ca_key = format!("{key}.ca_file");
    let ca = given.ca_file.as_deref();
    settings.ca_certificates = ca.map(|path| read_text(&ca_key, path)).transpose()?;
    LdapSecrets::new(&mut settings)
        .map_err(|error| unusable_ca_message(&ca_key, ca, &error.to_string()))
}

async fn provider(given: &OpenIdConnectSection) -> Result<(OidcProvider, FeatureStatus)> {
    let mut config = OidcConfig::new(&given.issuer, &given.client_id);
    config.redirect_uri.clone_from(&given.redirect_uri);
    config.loopback = given.loopback;
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
    let inability = "this server cannot log users in by the identity provider";
    let named = given.clone();
    let secrets =
        Feature::start_by_reading("oidc-service", inability, move || oidc_secrets(&named)).await;
    let status = secrets.status();
    Ok((OidcProvider::new(config, secrets)?, status))
}

fn oidc_secrets(given: &OpenIdConnectSection) -> Result<OidcSecrets, String> {
    const SECRET: &str = "directories.oidc.client_secret_file";
    const CA: &str = "directories.oidc.ca_file";
    let secret = given.client_secret_file.as_deref();
    let secret = secret.map(|path| read_line(SECRET, path)).transpose()?;
    let ca = given.ca_file.as_deref();
    let pem = ca.map(|path| read_text(CA, path)).transpose()?;
    OidcSecrets::new(secret.map(SecretString::from), pem.as_deref())
        .map_err(|error| unusable_ca_message(CA, ca, &error))
}

fn unusable_ca_message(key: &str, path: Option<&Path>, error: &str) -> String {
    match path {
        Some(path) => format!(
            "cannot use {key}, {}: {error}; write the CA's certificates there as PEM",
            path.display()
        ),
        None => error.to_owned(),
    }
}
