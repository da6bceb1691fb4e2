//! The certificate authority of a running server, for `tutti ca`. Main type: [`CertificatesClient`].
//!
//! Invariant: private keys are created and kept on this machine.

use std::path::PathBuf;

use api_types::{
    CertificateChange, CertificateChanged, CertificateStatus, CertificateStatuses, DesiredState,
};
use reqwest::Method;

use crate::Result;
use crate::client::ApiClient;
use crate::local_server::LocalServerLogin;
use crate::settings::{ClientIdentity, ClientSettings, ConnectionFlags};

/// Client for certificates and certificate requests.
#[derive(Clone, Debug)]
pub struct CertificatesClient {
    client: ApiClient,
}

/// Extensions of a request, beyond its name, that may be signed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SigningRights {
    /// Subject alternative names (SAN) of the request.
    pub alt_names: bool,
    /// Extensions that grant authorization.
    pub authorization_extensions: bool,
    /// Certnames that have privileges on the server.
    pub privileged_names: bool,
}

const PREFIX: [&str; 2] = ["puppet-ca", "v1"];

// === impl CertificatesClient ===

impl CertificatesClient {
    /// Creates a client with the token of the token file.
    ///
    /// # Errors
    /// There is no token, or a file cannot be read.
    pub fn with_token(connection: &ConnectionFlags) -> Result<Self> {
        let client = ApiClient::with_token(connection)?;
        Ok(Self { client })
    }

    /// Creates a client that authenticates with this certificate, for the server of the connection.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn with_certificate(
        connection: &ConnectionFlags,
        cert: PathBuf,
        key: PathBuf,
    ) -> Result<Self> {
        let settings = ClientSettings {
            identity: Some(ClientIdentity { cert, key }),
            ..connection.settings()?
        };
        let client = ApiClient::without_token(&settings)?;
        Ok(Self { client })
    }

    /// Creates a client for the server on this machine, which authenticates with the server's own
    /// certificate.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn with_login(login: LocalServerLogin) -> Result<Self> {
        let client = login.client()?;
        Ok(Self { client })
    }

    /// All certificate requests and certificates.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub async fn list(&self) -> Result<Vec<CertificateStatus>> {
        let path = [PREFIX[0], PREFIX[1], "certificate_statuses", "all"];
        let CertificateStatuses(all) = self.client.get(&path, &[]).await?;
        Ok(all)
    }

    /// Signs the pending request of a certname, or the given request.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub async fn sign(
        &self,
        certname: &str,
        rights: SigningRights,
        request: Option<String>,
    ) -> Result<CertificateChanged> {
        let change = CertificateChange {
            certificate_request: request,
            allow_alt_names: rights.alt_names,
            allow_authorization_extensions: rights.authorization_extensions,
            allow_privileged_names: rights.privileged_names,
            ..change(DesiredState::Signed)
        };
        self.client.put(&status(certname), &change).await
    }

    /// Revokes the certificates of a certname; returns once they are rejected everywhere, or with
    /// the progress so far.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub async fn revoke(&self, certname: &str) -> Result<CertificateChanged> {
        let change = change(DesiredState::Revoked);
        self.client.put(&status(certname), &change).await
    }

    /// Revokes the certificates of a certname and deletes them.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub async fn clean(&self, certname: &str) -> Result<CertificateChanged> {
        let path = status(certname);
        self.client.send_for_reply(Method::DELETE, &path).await
    }
}

fn status(certname: &str) -> [&str; 4] {
    [PREFIX[0], PREFIX[1], "certificate_status", certname]
}

fn change(desired_state: DesiredState) -> CertificateChange {
    CertificateChange {
        desired_state,
        cert_ttl: None,
        certificate_request: None,
        allow_alt_names: false,
        allow_authorization_extensions: false,
        allow_privileged_names: false,
    }
}
