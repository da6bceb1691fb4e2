//! Nodes that ever had an agent. Invariant: a certname that was written is never deleted.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

const SEEN: &str = "INSERT INTO agents (certname) VALUES ($1) ON CONFLICT DO NOTHING";
const ALL: &str = "SELECT certname FROM agents WHERE certname > $1 ORDER BY certname LIMIT $2";
const ONE: &str = "SELECT certname FROM agents WHERE certname = $1";

pub(crate) const STATEMENTS: &[&str] = &[SEEN, ALL, ONE];

// === impl Store ===

impl Store {
    /// Records that these nodes have agents.
    pub async fn record_agents(&self, certnames: Vec<String>) -> Result<(), StoreError> {
        let seen = certnames
            .iter()
            .map(|certname| SqlStatement::new(SEEN, values![certname]));
        self.execute_all(seen).await.map(drop)
    }

    /// True if the node ever had an agent.
    pub async fn has_agent(&self, certname: &str) -> Result<bool, StoreError> {
        let found: Option<String> = self.query_one(ONE, values![certname]).await?;
        Ok(found.is_some())
    }

    /// The next `limit` nodes after `after` that ever had an agent, by certname.
    pub async fn agents(&self, after: &str, limit: u32) -> Result<Vec<String>, StoreError> {
        self.query(ALL, values![after, limit]).await
    }
}
