//! Environments that are pinned to a code version, so that deployments do not change it:
//! [`CodePinRow`].

use crate::StoreError;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::{ColumnError, FromRow, RowColumns, SqlValue};

/// An environment that is pinned to a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePinRow {
    /// Name of the environment.
    pub environment: String,
    /// Signature of the pinned version.
    pub signature: String,
    /// Login of the user who pinned the version.
    pub owner: String,
    /// Reason given by the user, as free text.
    pub reason: String,
    /// Time of the pin in milliseconds since 1970.
    pub pinned_ms: i64,
}

const PIN: &str = "INSERT INTO code_pins (environment, signature, owner, reason, pinned_ms) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (environment) DO UPDATE SET \
     signature = excluded.signature, owner = excluded.owner, reason = excluded.reason, \
     pinned_ms = excluded.pinned_ms";
const UNPIN: &str = "DELETE FROM code_pins WHERE environment = $1";
const ONE: &str = "SELECT environment, signature, owner, reason, pinned_ms FROM code_pins \
     WHERE environment = $1";
const ALL: &str = "SELECT environment, signature, owner, reason, pinned_ms FROM code_pins \
     ORDER BY environment";

pub(crate) const STATEMENTS: &[&str] = &[PIN, UNPIN, ONE, ALL];

// === impl Store ===

impl Store {
    /// Pins an environment to a version.
    pub async fn pin_code(&self, pin: &CodePinRow) -> Result<(), StoreError> {
        let values = vec![
            SqlValue::owned_text(&pin.environment),
            SqlValue::owned_text(&pin.signature),
            SqlValue::owned_text(&pin.owner),
            SqlValue::owned_text(&pin.reason),
            SqlValue::Int(pin.pinned_ms),
        ];
        self.execute(SqlStatement { sql: PIN, values })
            .await
            .map(|_| ())
    }

    /// Removes the pin of an environment. `false`: it had none.
    pub async fn unpin_code(&self, environment: &str) -> Result<bool, StoreError> {
        let values = vec![SqlValue::owned_text(environment)];
        let rows = self.execute(SqlStatement { sql: UNPIN, values }).await?;
        Ok(rows > 0)
    }

    /// The pin of an environment; `None` if it has none.
    pub async fn code_pin(&self, environment: &str) -> Result<Option<CodePinRow>, StoreError> {
        self.query_one(ONE, vec![SqlValue::owned_text(environment)])
            .await
    }

    /// All pins, by environment.
    pub async fn code_pins(&self) -> Result<Vec<CodePinRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }
}

// === impl CodePinRow ===

impl FromRow for CodePinRow {
    fn from_row(row: &dyn RowColumns) -> Result<Self, ColumnError> {
        Ok(Self {
            environment: row.text(0)?,
            signature: row.text(1)?,
            owner: row.text(2)?,
            reason: row.text(3)?,
            pinned_ms: row.int(4)?,
        })
    }
}
