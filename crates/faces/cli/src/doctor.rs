//! The running server's part of a diagnosis. Main function: [`diagnosis`].

use std::path::PathBuf;

use api_types::ServerDiagnosis;

use crate::Result;
use crate::client::ApiClient;
use crate::local_server::LocalServerLogin;
use crate::settings::ConnectionFlags;

const PATH: [&str; 3] = ["tutti", "v1", "doctor"];

/// Requests the diagnosis of the server of `connection`, with the token of `tutti login`.
///
/// # Errors
/// There is no token, or the server refuses, or does not answer.
pub async fn diagnosis(connection: &ConnectionFlags) -> Result<ServerDiagnosis> {
    ApiClient::with_token(connection)?.get(&PATH, &[]).await
}

/// The token file of the current user; `None` if the settings of the client cannot be read.
pub fn token_file(connection: &ConnectionFlags) -> Option<PathBuf> {
    Some(connection.settings().ok()?.token_file)
}

impl LocalServerLogin {
    /// Requests the diagnosis of the server on this machine, with the server's own certificate.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub async fn diagnosis(self) -> Result<ServerDiagnosis> {
        self.client()?.get(&PATH, &[]).await
    }
}
