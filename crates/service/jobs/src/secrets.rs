//! Values that tasks marked as `_sensitive`, for the plans that ran them: [`Jobs::secrets`].
//!
//! Invariant: a secret leaves the store sealed and is in clear only in the returned value, which
//! must not go into a log, journal or API answer.

use std::collections::HashMap;

use serde_json::Value;
use store::{JobNumber, RunRow, StoreError};

use crate::handle::Jobs;

/// A secret value that a node returned.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum ReturnedSecret {
    /// The value as the task returned it.
    Open(Value),
    /// The value was sealed with another key than the server has now, or altered.
    Unreadable,
}

// === impl Jobs ===

impl Jobs {
    /// The values that the tasks of these runs marked as `_sensitive`, by certname. The runs are of
    /// one job, in the order of the names. Only jobs of plans that this server runs have any.
    pub async fn secrets(
        &self,
        job: JobNumber,
        runs: &[RunRow],
    ) -> Result<HashMap<String, ReturnedSecret>, StoreError> {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else {
            return Ok(HashMap::new());
        };
        let secrets = self
            .store()
            .run_secrets(job, &first.certname, &last.certname);
        let opened = secrets.await?.into_iter().map(|secret| {
            let open = self.seal().open(&secret.sealed).ok();
            let value = open.and_then(|json| serde_json::from_slice(&json).ok());
            let value = value.map_or(ReturnedSecret::Unreadable, ReturnedSecret::Open);
            (secret.certname, value)
        });
        Ok(opened.collect())
    }
}

/// Leaves out the value.
impl std::fmt::Debug for ReturnedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Open(_) => "Open",
            Self::Unreadable => "Unreadable",
        })
    }
}
