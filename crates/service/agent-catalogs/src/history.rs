//! What is known of a node's catalog and of its compilations.

use pcp::Certname;
use store::StoreError;

use crate::agent_catalogs::AgentCatalogs;
use crate::stored_catalogs::RecordedCompilation;

impl AgentCatalogs {
    /// The last compilations of a node, the newest first; none if catalogs are in memory only.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn compilations(
        &self,
        certname: &Certname,
    ) -> Result<Vec<RecordedCompilation>, StoreError> {
        match &self.inner.stored {
            Some(stored) => stored.compilations(certname).await,
            None => Ok(Vec::new()),
        }
    }

    /// Bytes of the catalogs in memory, about.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.inner.kept.bytes()
    }
}
