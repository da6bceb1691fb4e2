//! File sync: other servers follow the environments of this one.
//!
//! `commit`, `latest-commits` and `force-sync` have Puppet Enterprise's shapes, as far as they are
//! documented; `check-in`, `versions`, manifests and blobs are Tutti's own. A commit of an
//! environment is its version's signature.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::strict;

/// Id of the only repository.
pub const REPOSITORY: &str = "puppet-code";

/// Body of `POST file-sync/v1/commit` and `publish`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FileSyncCommitCommand {
    /// Commit all environments of the staging directory, and remove environments that came from it
    /// and are no longer there.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub commit_all: bool,
    /// Id of the repository: `puppet-code`.
    #[serde(default)]
    pub repo_id: Option<String>,
    /// Name of the environment; absent: all environments.
    #[serde(default)]
    pub submodule_id: Option<String>,
    /// Free text that the deployment history shows; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub message: String,
    /// Author of the commit; absent: none is recorded.
    #[serde(default)]
    pub author: Option<FileSyncAuthor>,
}

/// Author of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSyncAuthor {
    /// Name of the author.
    pub name: String,
    /// E-mail address of the author.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub email: String,
}

/// The commits of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileSyncRepository {
    /// Hash over all environments with their versions.
    pub commit: String,
    /// Commits of the environments, by name.
    pub submodules: BTreeMap<String, FileSyncSubmodule>,
}

/// The commit of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileSyncSubmodule {
    /// Signature of the version; null if the environment was removed.
    pub commit: Option<String>,
    /// Sequence number of the last switch, counted over all environments.
    pub generation: i64,
}

/// Reply to `commit`, `publish` and `latest-commits`: repositories by id.
pub type FileSyncCommitsReply = BTreeMap<String, FileSyncRepository>;

/// Reply to `versions`: the versions that the server keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileSyncVersions {
    /// Signatures of the versions, by environment.
    pub environments: BTreeMap<String, Vec<String>>,
}

/// Body of `POST file-sync/v1/force-sync`, which has no keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceSyncCommand {}

/// Body of `POST file-sync/v1/check-in`: the versions that a follower has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckInCommand {
    /// Cursor of the last reply; the server replies when the state differs from it.
    #[serde(default)]
    pub cursor: Option<String>,
    /// State of each environment on the follower, by name.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = BTreeMap<String, FollowedEnvironment>)]
    pub environments: BTreeMap<String, FollowedEnvironment>,
}

/// State of an environment on a follower.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowedEnvironment {
    /// Sequence number of the follower's last switch.
    #[serde(default)]
    pub generation: i64,
    /// Signature of the version that is live on the follower; null: none.
    #[serde(default)]
    pub version: Option<String>,
    /// Signature of the version that is complete and ready to go live; null: none.
    #[serde(default)]
    pub staged: Option<String>,
    /// Signature of the version that the follower could not get; null: none.
    #[serde(default)]
    pub failed: Option<String>,
    /// Cause of that failure; null if there was none.
    #[serde(default)]
    pub error: Option<String>,
}

/// Reply to a check-in of a follower.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckedIn {
    /// Cursor for the next check-in.
    pub cursor: String,
    /// Lease of the follower after each check-in, in seconds.
    pub lease_s: u64,
    /// Live versions, by environment.
    pub environments: BTreeMap<String, FileSyncSubmodule>,
    /// Signatures of versions to prepare, by environment.
    pub staging: BTreeMap<String, String>,
    /// Number of forced syncs so far; when it grows, the follower checks all files again.
    pub forced: u64,
}

/// A follower that does not have the version that a deployment made live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LateFollower {
    /// Certname of the follower.
    pub name: String,
    /// Reason for the delay, as far as it is known.
    pub why: String,
}

// === impl FileSyncCommitCommand ===

impl FileSyncCommitCommand {
    /// Returns the environment to commit; `None`: all environments.
    ///
    /// # Errors
    /// The key that is wrong, with the rule that it breaks.
    pub fn environment(&self) -> Result<Option<&str>, (&'static str, String)> {
        match (self.commit_all, &self.repo_id, &self.submodule_id) {
            (true, None, None) => Ok(None),
            (true, ..) => Err((
                "commit-all",
                "commits all, so nothing else is named".to_owned(),
            )),
            (false, None, _) => Err((
                "repo-id",
                format!("is missing; it is {REPOSITORY}, or commit-all is true"),
            )),
            (false, Some(id), submodule) if id == REPOSITORY => Ok(submodule.as_deref()),
            (false, Some(_), _) => Err(("repo-id", format!("is {REPOSITORY} here"))),
        }
    }
}
