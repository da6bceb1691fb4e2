//! Switches of environments as followers see them, and the followers: [`CodeGenerationRow`],
//! [`CodeFollowerRow`].

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

/// The last switch of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeGenerationRow {
    /// Name of the environment.
    pub environment: String,
    /// Number of the switch, counted over all environments.
    pub generation: i64,
    /// Signature of the new version; `None`: the environment was removed.
    pub signature: Option<String>,
}

/// A follower: a file sync client that replicates code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFollowerRow {
    /// Certname of the follower.
    pub name: String,
    /// Time of its last report in milliseconds since 1970.
    pub seen_ms: i64,
    /// The versions that it reported to have, as JSON.
    pub report: String,
}

const SWITCHED: &str = "INSERT INTO code_generations (environment, generation, signature) \
     VALUES ($1, $2, $3) ON CONFLICT (environment) DO UPDATE SET \
     generation = excluded.generation, signature = excluded.signature";
const GENERATIONS: &str =
    "SELECT environment, generation, signature FROM code_generations ORDER BY environment";
const SEEN: &str = "INSERT INTO code_followers (name, seen_ms, report) VALUES ($1, $2, $3) \
     ON CONFLICT (name) DO UPDATE SET seen_ms = excluded.seen_ms, report = excluded.report";
const FOLLOWERS: &str = "SELECT name, seen_ms, report FROM code_followers ORDER BY name";
const FORGET: &str = "DELETE FROM code_followers WHERE name = $1";

pub(crate) const STATEMENTS: &[&str] = &[SWITCHED, GENERATIONS, SEEN, FOLLOWERS, FORGET];

// === impl Store ===

impl Store {
    /// Records the switch of an environment.
    pub async fn set_code_generation(&self, row: &CodeGenerationRow) -> Result<(), StoreError> {
        let values = vec![
            SqlValue::owned_text(&row.environment),
            SqlValue::Int(row.generation),
            SqlValue::opt_owned_text(row.signature.as_deref()),
        ];
        let sql = SWITCHED;
        self.execute(SqlStatement { sql, values }).await.map(|_| ())
    }

    /// The last switch of each environment, by environment.
    pub async fn code_generations(&self) -> Result<Vec<CodeGenerationRow>, StoreError> {
        self.query(GENERATIONS, Vec::new()).await
    }

    /// Records the report of a follower.
    pub async fn set_code_follower(&self, row: &CodeFollowerRow) -> Result<(), StoreError> {
        let values = vec![
            SqlValue::owned_text(&row.name),
            SqlValue::Int(row.seen_ms),
            SqlValue::owned_text(&row.report),
        ];
        let sql = SEEN;
        self.execute(SqlStatement { sql, values }).await.map(|_| ())
    }

    /// All followers, by certname.
    pub async fn code_followers(&self) -> Result<Vec<CodeFollowerRow>, StoreError> {
        self.query(FOLLOWERS, Vec::new()).await
    }

    /// Deletes a follower and its report.
    pub async fn forget_code_follower(&self, name: &str) -> Result<(), StoreError> {
        let (sql, values) = (FORGET, vec![SqlValue::owned_text(name)]);
        self.execute(SqlStatement { sql, values }).await.map(|_| ())
    }
}

// === impl rows ===

impl FromRow for CodeGenerationRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            environment: row.text(0)?,
            generation: row.int(1)?,
            signature: row.opt_text(2)?,
        })
    }
}

impl FromRow for CodeFollowerRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            name: row.text(0)?,
            seen_ms: row.int(1)?,
            report: row.text(2)?,
        })
    }
}
