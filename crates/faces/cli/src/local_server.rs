//! The server on this machine, reached with its own certificate: for verbs that root runs there
//! without a login. Main type: [`LocalServerLogin`].

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use api_types::rbac::{PasswordReset, ResetToken};
use reqwest::Method;
use secrecy::{ExposeSecret as _, SecretString};

use crate::Result;
use crate::access::login::first_line;
use crate::client::ApiClient;
use crate::settings::{ClientIdentity, ClientSettings};

/// Address and certificate of the local server.
#[derive(Clone, Debug)]
pub struct LocalServerLogin {
    /// URL of the API, with a name that the certificate has.
    pub service_url: String,
    /// Address to connect to, whatever the name resolves to.
    pub address: SocketAddr,
    /// CA certificate that verifies the server.
    pub cacert: PathBuf,
    /// The server's own certificate, used as client certificate.
    pub cert: PathBuf,
    /// Private key of that certificate.
    pub key: PathBuf,
}

// === impl LocalServerLogin ===

impl LocalServerLogin {
    pub(crate) fn client(self) -> Result<ApiClient> {
        ApiClient::without_token(&ClientSettings {
            service_url: self.service_url,
            address: Some(self.address),
            cacert: Some(self.cacert),
            token_file: PathBuf::new(),
            environment: None,
            noop: false,
            color: true,
            identity: Some(ClientIdentity {
                cert: self.cert,
                key: self.key,
            }),
        })
    }

    /// Sets a user's password with a reset token, which can be used once.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub async fn reset_password(self, user_id: &str, password: &SecretString) -> Result<()> {
        let client = self.client()?;
        let path = ["rbac-api", "v1", "users", user_id, "password", "reset"];
        let ResetToken(token) = client.send_for_reply(Method::POST, &path).await?;
        let reset = PasswordReset {
            token,
            password: password.expose_secret().to_owned(),
        };
        let path = ["rbac-api", "v1", "auth", "reset"];
        client
            .send_without_content(Method::POST, &path, &reset)
            .await
    }
}

/// Reads the password in the first line of a file.
///
/// # Errors
/// The file cannot be read, or contains no password.
pub fn read_password(path: &Path) -> Result<SecretString> {
    first_line(path)
}
