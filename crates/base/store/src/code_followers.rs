//! Switches of environments as followers see them, and the followers: [`CodeGenerationRow`],
//! [`CodeFollowerRow`].

use crate::StoreError;
use crate::rows::row;
use crate::store::Store;
use crate::value::values;

row! {
    /// The last switch of an environment.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CodeGenerationRow {
        /// Name of the environment.
        pub environment: String,
        /// Number of the switch, counted over all environments.
        pub generation: i64,
        /// Signature of the new version; `None`: the environment was removed.
        pub signature: Option<String>,
    } read write columns generation_columns select generations from "code_generations"
}

row! {
    /// A follower: a file sync client that replicates code.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CodeFollowerRow {
        /// Certname of the follower.
        pub name: String,
        /// Time of its last report in milliseconds since 1970.
        pub seen_ms: i64,
        /// The versions that it reported to have, as JSON.
        pub report: String,
    } read write columns follower_columns select followers from "code_followers"
}

const SWITCHED: &str = concat!(
    "INSERT INTO code_generations (",
    generation_columns!(),
    ") VALUES ($1, $2, $3) ON CONFLICT (environment) DO UPDATE SET \
     generation = excluded.generation, signature = excluded.signature"
);
const GENERATIONS: &str = generations!("ORDER BY environment");
const SEEN: &str = concat!(
    "INSERT INTO code_followers (",
    follower_columns!(),
    ") VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET seen_ms = excluded.seen_ms, \
     report = excluded.report"
);
const FOLLOWERS: &str = followers!("ORDER BY name");
const FORGET: &str = "DELETE FROM code_followers WHERE name = $1";

pub(crate) const STATEMENTS: &[&str] = &[SWITCHED, GENERATIONS, SEEN, FOLLOWERS, FORGET];

// === impl Store ===

impl Store {
    /// Records the switch of an environment.
    pub async fn set_code_generation(&self, row: &CodeGenerationRow) -> Result<(), StoreError> {
        self.execute(SWITCHED, values![row]).await.map(drop)
    }

    /// The last switch of each environment, by environment.
    pub async fn code_generations(&self) -> Result<Vec<CodeGenerationRow>, StoreError> {
        self.query(GENERATIONS, Vec::new()).await
    }

    /// Records the report of a follower.
    pub async fn set_code_follower(&self, row: &CodeFollowerRow) -> Result<(), StoreError> {
        self.execute(SEEN, values![row]).await.map(drop)
    }

    /// All followers, by certname.
    pub async fn code_followers(&self) -> Result<Vec<CodeFollowerRow>, StoreError> {
        self.query(FOLLOWERS, Vec::new()).await
    }

    /// Deletes a follower and its report.
    pub async fn forget_code_follower(&self, name: &str) -> Result<(), StoreError> {
        self.execute(FORGET, values![name]).await.map(drop)
    }
}
