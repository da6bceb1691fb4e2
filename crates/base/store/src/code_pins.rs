//! Environments that are pinned to a code version, so that deployments do not change it:
//! [`CodePinRow`].

use crate::StoreError;
use crate::rows::row;
use crate::store::Store;
use crate::value::values;

row! {
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
    } read write columns columns select pins from "code_pins"
}

const PIN: &str = concat!(
    "INSERT INTO code_pins (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5) ON CONFLICT (environment) DO UPDATE SET \
     signature = excluded.signature, owner = excluded.owner, reason = excluded.reason, \
     pinned_ms = excluded.pinned_ms"
);
const UNPIN: &str = "DELETE FROM code_pins WHERE environment = $1";
const ONE: &str = pins!("WHERE environment = $1");
const ALL: &str = pins!("ORDER BY environment");

pub(crate) const STATEMENTS: &[&str] = &[PIN, UNPIN, ONE, ALL];

// === impl Store ===

impl Store {
    /// Pins an environment to a version.
    pub async fn pin_code(&self, pin: &CodePinRow) -> Result<(), StoreError> {
        self.execute(PIN, values![pin]).await.map(drop)
    }

    /// Removes the pin of an environment. `false`: it had none.
    pub async fn unpin_code(&self, environment: &str) -> Result<bool, StoreError> {
        Ok(self.execute(UNPIN, values![environment]).await? > 0)
    }

    /// The pin of an environment; `None` if it has none.
    pub async fn code_pin(&self, environment: &str) -> Result<Option<CodePinRow>, StoreError> {
        self.query_one(ONE, values![environment]).await
    }

    /// All pins, by environment.
    pub async fn code_pins(&self) -> Result<Vec<CodePinRow>, StoreError> {
        self.query(ALL, Vec::new()).await
    }
}
