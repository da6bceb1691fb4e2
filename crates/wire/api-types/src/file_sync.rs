//! File sync: other servers follow the environments of this one.
//!
//! `commit`, `latest-commits` and `force-sync` have Puppet Enterprise's shapes, as far as they are documented;
//! `check-in`, `versions`, manifests and blobs are Tutti's own. A commit of an environment is its version's signature.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::strict;

/// The one repository that there is.
pub const REPOSITORY: &str = "puppet-code";

/// `POST file-sync/v1/commit`, and `publish`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FileSyncCommitCommand {
    /// All environments of the staging directory; those that came from it and are not there any more are
    /// taken away.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub commit_all: bool,
    /// `puppet-code`.
    #[serde(default)]
    pub repo_id: Option<String>,
    /// An environment; absent: all of them.
    #[serde(default)]
    pub submodule_id: Option<String>,
    /// Free text, for the history.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub message: String,
    /// Whose work it is.
    #[serde(default)]
    pub author: Option<FileSyncAuthor>,
}

/// Whose work a commit is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSyncAuthor {
    /// For people.
    pub name: String,
    /// For people.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub email: String,
}

/// The commits of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileSyncRepository {
    /// Names all environments with their versions.
    pub commit: String,
    /// The environments.
    pub submodules: BTreeMap<String, FileSyncSubmodule>,
}

/// The commit of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileSyncSubmodule {
    /// The version's signature; null: it was taken away.
    pub commit: Option<String>,
    /// Its number among the switches of all environments.
    pub generation: i64,
}

/// What `commit`, `publish` and `latest-commits` answer: repositories by their ids.
pub type FileSyncCommitsReply = BTreeMap<String, FileSyncRepository>;

/// What `versions` answers: the versions that are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileSyncVersions {
    /// Signatures, by environment.
    pub environments: BTreeMap<String, Vec<String>>,
}

/// `POST file-sync/v1/force-sync` reads nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForceSyncCommand {}

/// `POST file-sync/v1/check-in`: what a follower has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckInCommand {
    /// What it was told last; the answer comes when there is something else.
    #[serde(default)]
    pub cursor: Option<String>,
    /// What it has of each environment.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = BTreeMap<String, FollowedEnvironment>)]
    pub environments: BTreeMap<String, FollowedEnvironment>,
}

/// What a follower has of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowedEnvironment {
    /// The number of its last switch.
    #[serde(default)]
    pub generation: i64,
    /// The version that is live there.
    #[serde(default)]
    pub version: Option<String>,
    /// The version that is ready to be.
    #[serde(default)]
    pub staged: Option<String>,
    /// The version that it cannot have.
    #[serde(default)]
    pub failed: Option<String>,
    /// And why.
    #[serde(default)]
    pub error: Option<String>,
}

/// What a follower is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckedIn {
    /// For the next time.
    pub cursor: String,
    /// How long a follower counts as there after it was heard, in seconds.
    pub lease_s: u64,
    /// What is live.
    pub environments: BTreeMap<String, FileSyncSubmodule>,
    /// Versions to get ready, by environment.
    pub staging: BTreeMap<String, String>,
    /// Counts demands to look at everything once more.
    pub forced: u64,
}

/// A follower that does not have what a deployment made live.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LateFollower {
    /// Its certname.
    pub name: String,
    /// Why, as far as it is known.
    pub why: String,
}

// === impl FileSyncCommitCommand ===

impl FileSyncCommitCommand {
    /// The environment that is meant; `None`: all of them.
    ///
    /// # Errors
    /// What is wrong, and with which key.
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
