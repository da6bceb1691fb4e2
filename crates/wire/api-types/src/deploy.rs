//! `POST command/deploy`: run Puppet on nodes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::rollout::{BatchSizes, Portion, RolloutOptions};
use crate::scope::Scope;
use crate::{ApiError, Object, limits, strict};

/// The request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployCommand {
    /// The environment to run in; empty: each node in its own, and `enforce_environment` must be
    /// false then.
    pub environment: String,
    /// The nodes; absent: all of the environment.
    #[serde(
        default,
        deserialize_with = "optional_scope",
        skip_serializing_if = "Option::is_none"
    )]
    pub scope: Option<Scope>,
    /// Of application orchestration; must be null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A node that is classified into another environment does not run.
    #[serde(default = "yes", deserialize_with = "null_is_yes")]
    #[schema(value_type = Option<bool>, default = true)]
    pub enforce_environment: bool,
    /// Only show what would change.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub noop: bool,
    /// Change things although `puppet.conf` says noop.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub no_noop: bool,
    /// Log more on the node.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub debug: bool,
    /// Log stack traces on the node.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub trace: bool,
    /// Log each resource on the node as it is evaluated.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub evaltrace: bool,
    /// Apply the last catalog instead of asking for one.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub use_cached_catalog: bool,
    /// Apply the last catalog when there is no new one; absent: as the node is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usecacheonfailure: Option<bool>,
    /// Puppet's setting, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filetimeout: Option<u64>,
    /// Puppet's setting, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_connect_timeout: Option<u64>,
    /// Puppet's setting, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_keepalive_timeout: Option<u64>,
    /// Puppet's setting, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_read_timeout: Option<u64>,
    /// `manifest`, `title-hash` or `random`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering: Option<String>,
    /// Only resources with these tags; commas between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    /// No resources with these tags; commas between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_tags: Option<String>,
    /// Which version of the code the nodes get; absent: what the server is set to. `lock` needs an
    /// environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<RunCode>,
    /// How many nodes of this job run at once; absent: as many as the server allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub concurrency: Option<u32>,
    /// The sizes of the batches that the nodes are taken in: a number, a share such as `"10%"`, or a list of such sizes,
    /// whose last one repeats. A batch starts when the one before has ended. Absent: all nodes are one batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub batch: Option<BatchSizes>,
    /// Seconds between the end of a batch and the start of the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_between_batches: Option<u64>,
    /// How many nodes may fail, or which share of them (`"10%"`). With one more, no other node starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub max_failures: Option<Portion>,
    /// How long each node may take, in seconds; 0: no limit; absent: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Free text.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Free keys and values, given back with the job (ticket numbers and the like).
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
}

/// Which version of the code the nodes of a job get, if its environment has versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunCode {
    /// Each what is live when it asks for its catalog.
    #[default]
    Latest,
    /// All the same: nothing else becomes live in the environment until the job is over, and deployments
    /// wait.
    Lock,
}

impl DeployCommand {
    /// What the types alone do not say.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.target.is_some() {
            return Err(ApiError::invalid(
                "target",
                "is the old name of scope.application; name the nodes in scope instead",
            ));
        }
        if self.noop && self.no_noop {
            let what = "contradicts noop; set one of them";
            return Err(ApiError::invalid("no_noop", what));
        }
        if self.environment.is_empty() && self.enforce_environment {
            let what = "must be false where environment is empty: each node runs in its own then";
            return Err(ApiError::invalid("enforce_environment", what));
        }
        if self.environment.is_empty() && self.scope.is_none() {
            let what = "is needed where environment is empty";
            return Err(ApiError::invalid("scope", what));
        }
        if self.environment.is_empty() && self.code == Some(RunCode::Lock) {
            let what =
                "cannot be lock where environment is empty: name the environment that is to stay";
            return Err(ApiError::invalid("code", what));
        }
        limits::check(self.concurrency, self.timeout)?;
        self.rollout().check()?;
        limits::check_texts(&self.description, &self.userdata)
    }

    /// The options that make it a rollout.
    pub fn rollout(&self) -> RolloutOptions {
        RolloutOptions {
            batch: self.batch.clone(),
            pause_between_batches: self.pause_between_batches,
            max_failures: self.max_failures,
        }
    }
}

fn yes() -> bool {
    true
}

fn null_is_yes<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<bool, D::Error> {
    Ok(Option::<bool>::deserialize(reader)?.unwrap_or(true))
}

/// `null` is no scope; anything else is a scope from an object.
fn optional_scope<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<Scope>, D::Error> {
    struct Keyed(Scope);
    impl<'de> Deserialize<'de> for Keyed {
        fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
            strict::keyed(reader).map(Self)
        }
    }
    Ok(Option::<Keyed>::deserialize(reader)?.map(|Keyed(scope)| scope))
}
