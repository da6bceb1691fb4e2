//! Code version of the catalogs of Puppet runs: [`CatalogCode`].
//!
//! Invariant: a job that keeps a code version shows it in its options, where a restarted server
//! finds it.

use serde_json::Value;

/// Option of a job whose environment keeps its code version until the job is over.
const LOCK: &str = "lock";

/// Code version that the catalogs of a job are compiled from. It is only recorded here: the creator
/// of the job keeps the version in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CatalogCode {
    /// Each catalog is compiled from the version that is live when its node asks for it.
    #[default]
    Latest,
    /// All catalogs are compiled from the version that is live when the job is made, which stays
    /// until the job is over.
    Locked {
        /// Code id of that version; `None`: the environment has no versions.
        code_id: Option<String>,
    },
}

// === impl CatalogCode ===

impl CatalogCode {
    /// The mode as the job shows it, with the code id.
    pub(super) fn to_shown_mode(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Latest => ("latest", None),
            Self::Locked { code_id } => (LOCK, code_id.as_deref()),
        }
    }

    /// True if a job with these options keeps its environment's code version until it is over.
    pub fn is_locked(options: &Value) -> bool {
        options["code"] == LOCK
    }
}
