//! The last catalogs of agents, and their compilations: [`AgentCatalogRow`], [`CatalogCompilationRow`].
//!
//! Invariants: a node has a bounded number of rows, and only its newest catalog has a body; what the
//! catalogs contain is sealed by the caller; the rows of a node are deleted with the node.

use crate::StoreError;
use crate::defaults::PRUNE_ROWS;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A catalog of a node.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AgentCatalogRow {
        /// Certname of the node.
        pub certname: String,
        /// Position among all catalogs; higher than that of any catalog before.
        pub sequence: i64,
        /// Environment of the catalog.
        pub environment: String,
        /// Code id of the version from which it was compiled.
        pub code_id: String,
        /// Time at which it was given last, in milliseconds since 1970.
        pub used_ms: i64,
        /// True if the agent got it.
        pub given: bool,
        /// The files that it names by hash, sealed.
        pub contents: Vec<u8>,
        /// The catalog and all on which it depends, sealed; `None` if the node has a newer one.
        pub body: Option<Vec<u8>>,
    } read write columns catalog_columns select catalogs from "agent_catalogs"
}

row! {
    /// A compilation of a node's catalog.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CatalogCompilationRow {
        /// Certname of the node.
        pub certname: String,
        /// Position of the catalog, as in [`AgentCatalogRow::sequence`].
        pub sequence: i64,
        /// Time of the compilation in milliseconds since 1970.
        pub at_ms: i64,
        /// Duration, version and causes, as a JSON object.
        pub summary: String,
    } read write columns compilation_columns select compilations from "catalog_compilations"
}

/// A change of the stored catalogs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentCatalogChange {
    /// A new catalog becomes the newest of its node.
    Catalog(AgentCatalogRow),
    /// A compilation is recorded.
    Compilation(CatalogCompilationRow),
    /// A catalog was given to its agent.
    Given {
        certname: String,
        sequence: i64,
        /// Time in milliseconds since 1970.
        at_ms: i64,
    },
    /// All catalogs of a node are deleted; its compilations remain.
    Forget { certname: String },
}

/// Numbers of rows that a node may have.
#[derive(Clone, Copy, Debug)]
pub struct AgentCatalogBounds {
    /// Catalogs that were given; the newest one may be a further one that was not.
    pub catalogs: u64,
    pub compilations: u64,
    /// True if only nodes of the inventory's table may have rows.
    pub known_nodes_only: bool,
}

const PUT: &str = concat!(
    "INSERT INTO agent_catalogs (",
    catalog_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
);
const DROP_BODIES: &str = "UPDATE agent_catalogs SET body = NULL WHERE certname = $1 \
     AND sequence < $2 AND body IS NOT NULL";
const DROP_UNUSED: &str =
    "DELETE FROM agent_catalogs WHERE certname = $1 AND sequence < $2 AND given = 0";
const TRIM: &str = "DELETE FROM agent_catalogs WHERE certname = $1 AND sequence < \
     (SELECT kept.sequence FROM agent_catalogs AS kept WHERE kept.certname = $1 AND kept.given = 1 \
     ORDER BY kept.sequence DESC LIMIT 1 OFFSET $2)";
const GIVE: &str = "UPDATE agent_catalogs SET used_ms = $3, given = 1 \
     WHERE certname = $1 AND sequence = $2";
const FORGET: &str = "DELETE FROM agent_catalogs WHERE certname = $1";
const FORGET_UNKNOWN: &str = "DELETE FROM agent_catalogs WHERE certname = $1 \
     AND NOT EXISTS (SELECT 1 FROM inventory_nodes WHERE certname = $1)";
const PUT_COMPILATION: &str = concat!(
    "INSERT INTO catalog_compilations (",
    compilation_columns!(),
    ") VALUES ($1, $2, $3, $4)"
);
const TRIM_COMPILATIONS: &str = "DELETE FROM catalog_compilations WHERE certname = $1 AND sequence < \
     (SELECT kept.sequence FROM catalog_compilations AS kept WHERE kept.certname = $1 \
     ORDER BY kept.sequence DESC LIMIT 1 OFFSET $2)";
const FORGET_COMPILATIONS: &str = "DELETE FROM catalog_compilations WHERE certname = $1";
const FORGET_UNKNOWN_COMPILATIONS: &str = "DELETE FROM catalog_compilations WHERE certname = $1 \
     AND NOT EXISTS (SELECT 1 FROM inventory_nodes WHERE certname = $1)";
const OF_NODE: &str = catalogs!("WHERE certname = $1 ORDER BY sequence DESC LIMIT $2");
const COMPILATIONS: &str = compilations!("WHERE certname = $1 ORDER BY sequence DESC LIMIT $2");
const CODE_IDS: &str = "SELECT DISTINCT code_id FROM agent_catalogs";
const LAST: &str = "SELECT MAX(last) FROM (SELECT MAX(sequence) AS last FROM agent_catalogs \
     UNION ALL SELECT MAX(sequence) FROM catalog_compilations) AS both_tables";
const NODES: &str = "SELECT certname FROM agent_catalogs WHERE environment = $1 AND certname > $2 \
     AND body IS NOT NULL AND used_ms >= $3 ORDER BY certname LIMIT $4";
const PRUNE: &str = "DELETE FROM agent_catalogs WHERE (certname, sequence) IN \
     (SELECT certname, sequence FROM agent_catalogs WHERE used_ms < $1 LIMIT $2)";
const PRUNE_COMPILATIONS: &str = "DELETE FROM catalog_compilations WHERE (certname, sequence) IN \
     (SELECT certname, sequence FROM catalog_compilations WHERE at_ms < $1 LIMIT $2)";

pub(crate) const STATEMENTS: &[&str] = &[
    PUT,
    DROP_BODIES,
    DROP_UNUSED,
    TRIM,
    GIVE,
    FORGET,
    FORGET_UNKNOWN,
    PUT_COMPILATION,
    TRIM_COMPILATIONS,
    FORGET_COMPILATIONS,
    FORGET_UNKNOWN_COMPILATIONS,
    OF_NODE,
    COMPILATIONS,
    CODE_IDS,
    LAST,
    NODES,
    PRUNE,
    PRUNE_COMPILATIONS,
];

/// Deletes the catalogs and the compilations of a node.
pub(crate) fn delete_statements(certname: &str) -> [SqlStatement<'_>; 2] {
    [FORGET, FORGET_COMPILATIONS].map(|sql| SqlStatement::new(sql, values![certname]))
}

// === impl AgentCatalogChange ===

impl AgentCatalogChange {
    /// Bytes of the sealed parts and of the summary.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        match self {
            Self::Catalog(row) => row.contents.len() + row.body.as_ref().map_or(0, Vec::len),
            Self::Compilation(row) => row.summary.len(),
            Self::Given { .. } | Self::Forget { .. } => 0,
        }
    }

    fn add_statements<'a>(&'a self, bounds: AgentCatalogBounds, steps: &mut Vec<SqlStatement<'a>>) {
        let mut add = |sql, values| steps.push(SqlStatement::new(sql, values));
        match self {
            Self::Catalog(row) => {
                let (certname, sequence) = (&row.certname, row.sequence);
                add(DROP_BODIES, values![certname, sequence]);
                add(DROP_UNUSED, values![certname, sequence]);
                add(PUT, values![row]);
                let last = bounds.catalogs.saturating_sub(1);
                add(TRIM, values![certname, last]);
                if bounds.known_nodes_only {
                    // last, and in the same transaction: the node may have been deleted meanwhile
                    add(FORGET_UNKNOWN, values![certname]);
                }
            }
            Self::Compilation(row) => {
                let certname = &row.certname;
                add(PUT_COMPILATION, values![row]);
                let last = bounds.compilations.saturating_sub(1);
                add(TRIM_COMPILATIONS, values![certname, last]);
                if bounds.known_nodes_only {
                    add(FORGET_UNKNOWN_COMPILATIONS, values![certname]);
                }
            }
            Self::Given {
                certname,
                sequence,
                at_ms,
            } => add(GIVE, values![certname, *sequence, *at_ms]),
            Self::Forget { certname } => add(FORGET, values![certname]),
        }
    }
}

// === impl Store ===

impl Store {
    /// Applies changes in their order, in one transaction.
    pub async fn change_agent_catalogs(
        &self,
        changes: &[AgentCatalogChange],
        bounds: AgentCatalogBounds,
    ) -> Result<(), StoreError> {
        let mut steps = Vec::new();
        for change in changes {
            change.add_statements(bounds, &mut steps);
        }
        match steps.is_empty() {
            true => Ok(()),
            false => self.execute_all(steps).await.map(drop),
        }
    }

    /// The catalogs of a node, the newest first.
    pub async fn agent_catalogs(
        &self,
        certname: &str,
        limit: u64,
    ) -> Result<Vec<AgentCatalogRow>, StoreError> {
        self.query(OF_NODE, values![certname, limit]).await
    }

    /// The last compilations of a node, the newest first.
    pub async fn catalog_compilations(
        &self,
        certname: &str,
        limit: u64,
    ) -> Result<Vec<CatalogCompilationRow>, StoreError> {
        self.query(COMPILATIONS, values![certname, limit]).await
    }

    /// The code ids of all stored catalogs.
    pub async fn agent_catalog_code_ids(&self) -> Result<Vec<String>, StoreError> {
        self.query(CODE_IDS, Vec::new()).await
    }

    /// The highest position of a catalog or compilation; `None` if there is none.
    pub async fn last_agent_catalog(&self) -> Result<Option<i64>, StoreError> {
        let last: Option<Option<i64>> = self.query_one(LAST, Vec::new()).await?;
        Ok(last.flatten())
    }

    /// Certnames after `after` (`""`: from the first one) whose newest catalog is of this environment, and was
    /// given since `used_since_ms`, in milliseconds since 1970.
    pub async fn nodes_with_agent_catalog(
        &self,
        environment: &str,
        used_since_ms: i64,
        after: &str,
        limit: u64,
    ) -> Result<Vec<String>, StoreError> {
        let values = values![environment, after, used_since_ms, limit];
        self.query(NODES, values).await
    }

    /// Deletes catalogs that were not given, and compilations that did not happen, since this time, in
    /// small transactions. Returns the number of catalogs.
    pub async fn prune_agent_catalogs(&self, before_ms: i64) -> Result<u64, StoreError> {
        let catalogs = self.prune_agent_catalog_rows(PRUNE, before_ms).await?;
        self.prune_agent_catalog_rows(PRUNE_COMPILATIONS, before_ms)
            .await?;
        Ok(catalogs)
    }

    async fn prune_agent_catalog_rows(
        &self,
        sql: &'static str,
        before_ms: i64,
    ) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            match self.execute(sql, values![before_ms, PRUNE_ROWS]).await? {
                0 => return Ok(deleted),
                rows => deleted += rows,
            }
        }
    }
}
