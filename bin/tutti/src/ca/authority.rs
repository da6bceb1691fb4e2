//! The authority on which a verb of `tutti ca` works: [`AuthorityAccess`].
//!
//! Invariant: the files are changed directly only if no server is running that would not notice the
//! change.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use api_types::{CertificateStatus, RevocationInForce};
use cli::certificates::{CertificatesClient, SigningRights};
use pki::CertificateAuthority;
use pki::ca::{GenerateOptions, GeneratedCertificate, SignOptions};
use puppet_api::certificate_status;

use super::AuthorityPlace;
use crate::config::Config;
use crate::local_server::{self, LocalServer};
use crate::privileged_names::registry;

/// The files of an authority, or a server that has one.
pub(super) enum AuthorityAccess {
    Files(CertificateAuthority),
    Server(RunningServer),
}

/// A running server and a runtime for requests to it.
pub(super) struct RunningServer {
    client: CertificatesClient,
    runtime: tokio::runtime::Runtime,
}

// === impl AuthorityAccess ===

impl AuthorityAccess {
    /// Selects the authority: the named files; the named server; the server of this machine's
    /// configuration, with its own certificate; its files if it is not running.
    pub(super) fn at(place: &AuthorityPlace) -> Result<Self> {
        if place.local || place.cadir.is_some() {
            return files(place);
        }
        if let (Some(cert), Some(key)) = (&place.cert, &place.key) {
            let client =
                CertificatesClient::with_certificate(&place.connection, cert.clone(), key.clone());
            return Self::connect_over(client?);
        }
        if !place.connection.has_service()? && place.config.exists() {
            let config = Config::read(&place.config)?;
            if config.ca.enabled {
                return of_this_machine(place, &config);
            }
        }
        Self::connect_over(CertificatesClient::with_token(&place.connection)?)
    }

    fn connect_over(client: CertificatesClient) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self::Server(RunningServer { client, runtime }))
    }

    pub(super) fn list(&self) -> Result<Vec<CertificateStatus>> {
        match self {
            Self::Files(ca) => Ok(ca.list()?.into_iter().map(certificate_status).collect()),
            Self::Server(server) => Ok(server.runtime.block_on(server.client.list())?),
        }
    }

    /// Certnames whose requests wait.
    pub(super) fn list_requests(&self) -> Result<Vec<String>> {
        let entries = self.list()?.into_iter();
        let waiting = entries.filter(|entry| entry.state == "requested");
        Ok(waiting.map(|entry| entry.name).collect())
    }

    pub(super) fn sign(&self, certname: &str, rights: SigningRights) -> Result<()> {
        match self {
            Self::Files(ca) => {
                let options = SignOptions {
                    allow_alt_names: rights.alt_names,
                    allow_authorization: rights.authorization_extensions,
                    allow_privileged_names: rights.privileged_names,
                    ..SignOptions::default()
                };
                ca.sign(certname, &options)?;
            }
            Self::Server(server) => {
                let sign = server.client.sign(certname, rights, None);
                server.runtime.block_on(sign)?;
            }
        }
        Ok(())
    }

    /// Revokes a certificate; returns the brokers on which it is still accepted.
    pub(super) fn revoke(&self, certname: &str) -> Result<RevocationInForce> {
        match self {
            Self::Files(ca) => {
                ca.revoke(certname)?;
                Ok(RevocationInForce::default())
            }
            Self::Server(server) => {
                let revoked = server.runtime.block_on(server.client.revoke(certname))?;
                Ok(revoked.revocation.unwrap_or_default())
            }
        }
    }

    /// Revokes and forgets a certificate; returns the brokers on which it is still accepted.
    pub(super) fn clean(&self, certname: &str) -> Result<RevocationInForce> {
        match self {
            Self::Files(ca) => {
                let entries = ca.list()?.into_iter();
                let known: BTreeSet<_> = entries.map(|entry| entry.certname).collect();
                // A name that the CA never saw is more likely misspelt than clean.
                anyhow::ensure!(
                    known.contains(certname),
                    "there is neither a request nor a certificate for {certname}"
                );
                ca.clean(certname)?;
                Ok(RevocationInForce::default())
            }
            Self::Server(server) => {
                let cleaned = server.runtime.block_on(server.client.clean(certname))?;
                Ok(cleaned.revocation.unwrap_or_default())
            }
        }
    }

    /// Prints a note about steps that were not waited for.
    pub(super) fn note_revocation(&self) {
        if let Self::Files(ca) = self {
            anstream::eprintln!(
                "note: only the files in {} were changed; a server that uses them follows within a second, and it \
                 was not waited for the end of sessions",
                ca.dir().display()
            );
        }
    }

    pub(super) fn generate(
        &self,
        certname: &str,
        what: &GenerateOptions,
    ) -> Result<GeneratedCertificate> {
        match self {
            Self::Files(ca) => Ok(ca.generate(certname, what)?),
            Self::Server(server) => {
                let made = pki::csr::generate_with(certname, what)?;
                // A user who types a name with its options has confirmed them.
                let rights = SigningRights {
                    alt_names: true,
                    authorization_extensions: true,
                    privileged_names: true,
                };
                let sign = server.client.sign(certname, rights, Some(made.request_pem));
                let signed = server.runtime.block_on(sign)?;
                Ok(GeneratedCertificate {
                    key_pem: made.key_pem,
                    cert_pem: signed.certificate.context(
                        "the server's answer has no certificate; is it of this version?",
                    )?,
                })
            }
        }
    }
}

fn files(place: &AuthorityPlace) -> Result<AuthorityAccess> {
    // The directory may be used without a configuration; in that case no name has rights.
    let names = match place.config.exists() {
        true => registry(&Config::read(&place.config)?)?,
        false => Arc::default(),
    };
    let ca = CertificateAuthority::open(&place.directory()?)?;
    Ok(AuthorityAccess::Files(ca.with_privileged_names(names)))
}

fn of_this_machine(place: &AuthorityPlace, config: &Config) -> Result<AuthorityAccess> {
    match local_server::find(config)? {
        LocalServer::Stopped => files(place),
        // Users other than root and the server's own need a token.
        LocalServer::WithoutKey => {
            AuthorityAccess::connect_over(CertificatesClient::with_token(&place.connection)?)
        }
        LocalServer::Running(login) => {
            AuthorityAccess::connect_over(CertificatesClient::with_login(login)?)
        }
    }
}
