//! Audit entries of the API, page by page. Main function: [`page`].

use api_types::audit::AuditEntries;

use crate::Failure;
use crate::client::Client;
use crate::defaults::AUDIT_PAGE;

/// The entries from `start` on; empty at the end.
pub(super) async fn page(client: &Client, start: i64, limit: u64) -> Result<AuditEntries, Failure> {
    let (start, limit) = (start.max(0).to_string(), limit.to_string());
    let query = [("start", start.as_str()), ("limit", limit.as_str())];
    client.get(&["audit", "v1", "entries"], &query).await
}

/// A page of the default size.
pub(super) async fn next(client: &Client, start: i64) -> Result<AuditEntries, Failure> {
    page(client, start, AUDIT_PAGE).await
}
