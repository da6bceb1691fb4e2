//! Environments that stay with a version, whatever is deployed. [`CodePinRow`].

use crate::StoreError;
use crate::step::Step;
use crate::store::Store;
use crate::value::{ColumnError, Columns, FromRow, Value};

/// An environment that stays with a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePinRow {
    /// Which.
    pub environment: String,
    /// With which version.
    pub signature: String,
    /// The login of who wants that.
    pub owner: String,
    /// Free text.
    pub reason: String,
    /// Since when.
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
    /// From now on, the environment stays with this version.
    pub async fn pin_code(&self, pin: &CodePinRow) -> Result<(), StoreError> {
        let values = vec![
            Value::owned(&pin.environment),
            Value::owned(&pin.signature),
            Value::owned(&pin.owner),
            Value::owned(&pin.reason),
            Value::Int(pin.pinned_ms),
        ];
        self.execute(Step { sql: PIN, values }).await.map(|_| ())
    }

    /// `false`: it did not stay with any.
    pub async fn unpin_code(&self, environment: &str) -> Result<bool, StoreError> {
        let values = vec![Value::owned(environment)];
        let rows = self.execute(Step { sql: UNPIN, values }).await?;
        Ok(rows > 0)
    }

    /// The version that an environment stays with.
    pub async fn code_pin(&self, environment: &str) -> Result<Option<CodePinRow>, StoreError> {
        self.query_one(ONE, vec![Value::owned(environment)]).await
    }

    /// All of them, by environment.
    pub async fn code_pins(&self) -> Result<Vec<CodePinRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }
}

// === impl CodePinRow ===

impl FromRow for CodePinRow {
    fn from_row(row: &dyn Columns) -> Result<Self, ColumnError> {
        Ok(Self {
            environment: row.text(0)?,
            signature: row.text(1)?,
            owner: row.text(2)?,
            reason: row.text(3)?,
            pinned_ms: row.int(4)?,
        })
    }
}
