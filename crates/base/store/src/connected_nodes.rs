//! Nodes with a connected agent, as of about a second ago.
//!
//! Invariant: from here a starting server reads which nodes were connected when the previous server
//! ended, however it ended.

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

const CAME: &str = "INSERT INTO connected_nodes (certname) VALUES ($1) ON CONFLICT DO NOTHING";
const WENT: &str = "DELETE FROM connected_nodes WHERE certname = $1";
const ALL: &str =
    "SELECT certname FROM connected_nodes WHERE certname > $1 ORDER BY certname LIMIT $2";

pub(crate) const STATEMENTS: &[&str] = &[CAME, WENT, ALL];

// === impl Store ===

impl Store {
    /// Records connections (`true`) and disconnections of nodes in one transaction.
    pub async fn record_connection_changes(
        &self,
        changes: Vec<(String, bool)>,
    ) -> Result<(), StoreError> {
        let steps = changes.iter().map(|(certname, is_connected)| {
            SqlStatement::new(if *is_connected { CAME } else { WENT }, values![certname])
        });
        self.execute_all(steps).await.map(drop)
    }

    /// The next `limit` connected nodes after `after`, by certname.
    pub async fn connected_nodes(
        &self,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, StoreError> {
        self.query(ALL, values![after, limit]).await
    }
}
