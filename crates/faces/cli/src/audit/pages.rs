//! Audit entries of the API, page by page. Main type: [`AuditPages`].

use api_types::audit::AuditEntries;

use crate::Result;
use crate::client::ApiClient;
use crate::defaults::AUDIT_PAGE;
use crate::settings::ConnectionFlags;

/// The audit entries of a server.
#[derive(Debug)]
pub struct AuditPages {
    client: ApiClient,
}

// === impl AuditPages ===

impl AuditPages {
    /// Prepares requests with the user's token.
    ///
    /// # Errors
    /// There is no token, or the settings of the client cannot be read.
    pub fn open(connection: &ConnectionFlags) -> Result<Self> {
        let client = ApiClient::with_token(connection)?;
        Ok(Self { client })
    }

    /// At most `limit` entries from number `start` on; empty at the end.
    ///
    /// # Errors
    /// The server refuses, or does not answer.
    pub async fn page(&self, start: i64, limit: u64) -> Result<AuditEntries> {
        let (start, limit) = (start.max(0).to_string(), limit.to_string());
        let query = [("start", start.as_str()), ("limit", limit.as_str())];
        self.client.get(&["audit", "v1", "entries"], &query).await
    }

    /// A page of the default size.
    ///
    /// # Errors
    /// Like [`Self::page`].
    pub async fn next_page(&self, start: i64) -> Result<AuditEntries> {
        self.page(start, AUDIT_PAGE).await
    }
}
