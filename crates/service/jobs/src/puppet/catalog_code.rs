//! Code version of the catalogs of Puppet runs: [`CatalogCode`].
//!
//! Invariant: a job that keeps a code version shows it in its options, where a restarted server
//! finds it.

use pxp::action::CodeId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Option of a job whose environment keeps its code version until the job is over.
const LOCK: &str = "lock";

/// Option of a job whose nodes get a version that it names.
const PINNED: &str = "pinned";

/// Code version that the catalogs of a job are compiled from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalogCode {
    /// Each catalog is compiled from the version that is live when its node asks for it.
    #[default]
    Latest,
    /// All catalogs are compiled from the version that is live when the job is made, which stays
    /// until the job is over. This is only recorded here: the creator of the job keeps the version in
    /// place.
    Locked {
        /// Code id of that version; `None`: the environment has no versions.
        code_id: Option<String>,
    },
    /// All catalogs are compiled from this version, whichever is live.
    Pinned { code_id: CodeId },
}

/// A code version that all nodes of a job get.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PinnedCode {
    pub(crate) environment: String,
    pub(crate) code_id: CodeId,
}

// === impl CatalogCode ===

impl CatalogCode {
    /// The mode as jobs and plan jobs show it.
    pub fn mode(&self) -> &'static str {
        self.to_shown_mode().0
    }

    /// The mode as the job shows it, with the code id.
    pub(super) fn to_shown_mode(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Latest => ("latest", None),
            Self::Locked { code_id } => (LOCK, code_id.as_deref()),
            Self::Pinned { code_id } => (PINNED, Some(code_id.as_str())),
        }
    }

    /// The version that all nodes get, whichever is live.
    pub(crate) fn pinned(&self) -> Option<&CodeId> {
        match self {
            Self::Pinned { code_id } => Some(code_id),
            Self::Latest | Self::Locked { .. } => None,
        }
    }

    /// The version that the nodes are meant to get; `None` if it is not known.
    pub fn code_id(&self) -> Option<CodeId> {
        match self {
            Self::Latest => None,
            Self::Locked { code_id } => code_id.as_ref()?.parse().ok(),
            Self::Pinned { code_id } => Some(code_id.clone()),
        }
    }

    /// True if a job with these options keeps its environment's code version until it is over.
    pub fn is_locked(options: &Value) -> bool {
        options["code"] == LOCK
    }

    /// Code id of the version that the nodes of a job with these options get; `None` if it names none.
    pub fn pinned_code_id(options: &Value) -> Option<&str> {
        (options["code"] == PINNED)
            .then(|| options["code_id"].as_str())
            .flatten()
    }
}
