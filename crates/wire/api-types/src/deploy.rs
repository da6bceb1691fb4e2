//! `POST command/deploy`: run Puppet on nodes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::rollout::{BatchSizes, Portion, RolloutOptions};
use crate::scope::Scope;
use crate::{ApiError, Object, limits, strict};

/// Body of `POST command/deploy`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployCommand {
    /// Environment in which the nodes run; empty: each node runs in its own, and then
    /// `enforce_environment` must be false.
    pub environment: String,
    /// Nodes to run on; absent: all nodes of the environment.
    #[serde(
        default,
        deserialize_with = "optional_scope",
        skip_serializing_if = "Option::is_none"
    )]
    pub scope: Option<Scope>,
    /// Obsolete key of application orchestration; must be null or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Skip nodes that are classified into another environment.
    #[serde(default = "yes", deserialize_with = "null_is_yes")]
    #[schema(value_type = Option<bool>, default = true)]
    pub enforce_environment: bool,
    /// Only show the changes, without making them (noop).
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub noop: bool,
    /// Make changes even if `puppet.conf` sets noop.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub no_noop: bool,
    /// Log at debug level on the node.
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
    /// Apply the cached catalog instead of requesting a new one.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<bool>)]
    pub use_cached_catalog: bool,
    /// Apply the cached catalog if a new one cannot be obtained; absent: the node's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usecacheonfailure: Option<bool>,
    /// Puppet's setting of the same name, in seconds; absent: the node's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filetimeout: Option<u64>,
    /// Puppet's setting of the same name, in seconds; absent: the node's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_connect_timeout: Option<u64>,
    /// Puppet's setting of the same name, in seconds; absent: the node's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_keepalive_timeout: Option<u64>,
    /// Puppet's setting of the same name, in seconds; absent: the node's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_read_timeout: Option<u64>,
    /// Order of resources: `manifest`, `title-hash` or `random`; absent: the node's own setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering: Option<String>,
    /// Only apply resources with these tags, separated by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    /// Skip resources with these tags, separated by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_tags: Option<String>,
    /// Code version that the nodes get; absent: the server's setting. `lock` needs an environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<RunCode>,
    /// Version of the environment's code that all nodes get, whichever is live: its code id, or the first
    /// digits of the version. Only nodes whose catalogs this server compiles for their agents can run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_id: Option<String>,
    /// Number of nodes of this job that may run at the same time; absent: the server's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub concurrency: Option<u32>,
    /// Sizes of the batches: a number of nodes, a percentage such as `"10%"`, or a list of such
    /// sizes, of which the last one repeats. A batch starts when the previous one has ended.
    /// Absent: all nodes form one batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub batch: Option<BatchSizes>,
    /// Run the nodes of an environment with applications in groups: a node starts only when all nodes of the levels
    /// before its own have ended, and not as soon as those that it waits for have succeeded.
    #[serde(
        default,
        deserialize_with = "strict::null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    #[schema(value_type = Option<bool>)]
    pub barrier: bool,
    /// Keep the nodes of applications on which this job's run does not succeed from running Puppet by themselves after the
    /// job, until a later ordered run succeeds there or their lease is released.
    #[serde(
        default,
        deserialize_with = "strict::null_is_default",
        skip_serializing_if = "std::ops::Not::not"
    )]
    #[schema(value_type = Option<bool>)]
    pub quarantine: bool,
    /// Pause between the end of a batch and the start of the next one, in seconds; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_between_batches: Option<u64>,
    /// Number of nodes that may fail, or their percentage (`"10%"`). After one more failure no
    /// further node is started. Absent: any number may fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub max_failures: Option<Portion>,
    /// Time over which the starts of the nodes are spread evenly, in seconds, as Puppet's `splaylimit`, but evenly instead of
    /// at random. A node on which another job runs Puppet, or is about to, is skipped. Absent: all nodes start as soon as they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splay: Option<u64>,
    /// Timeout for each node, in seconds; 0: 30 days, the longest; absent: the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// Free text shown in lists and logs; may be empty.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Option<String>)]
    pub description: String,
    /// Arbitrary keys and values (ticket numbers, for example), returned unchanged with the job.
    #[serde(default, deserialize_with = "strict::null_is_default")]
    #[schema(value_type = Object)]
    pub userdata: Object,
}

/// Code version that the nodes of a job get, if the environment is versioned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunCode {
    /// Each node gets the version that is live when it requests its catalog.
    #[default]
    Latest,
    /// All nodes get the same version: no other version becomes live in the environment until the
    /// job has ended, and deployments wait.
    Lock,
}

impl DeployCommand {
    /// Checks the limits that the types do not express.
    ///
    /// # Errors
    /// A validation error that names the key.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.target.is_some() {
            return Err(ApiError::invalid(
                "target",
                "is the old name of scope.application; use that",
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
        self.check_code_id()?;
        limits::check(self.concurrency, self.timeout)?;
        self.rollout().check()?;
        if self.barrier && (self.batch.is_some() || self.splay.is_some()) {
            let what = "contradicts batch and splay; set one of them";
            return Err(ApiError::invalid("barrier", what));
        }
        let scope = self.scope.as_ref();
        if self.splay.is_some() && scope.is_some_and(|scope| scope.application.is_some()) {
            let what = "contradicts scope.application, whose nodes run in order; leave it out";
            return Err(ApiError::invalid("splay", what));
        }
        if self.quarantine && (self.environment.is_empty() || self.splay.is_some()) {
            let what =
                "needs an environment, whose applications order the nodes, and contradicts splay";
            return Err(ApiError::invalid("quarantine", what));
        }
        limits::check_texts(&self.description, &self.userdata)
    }

    /// Checks that nothing contradicts the version that the nodes are to get.
    fn check_code_id(&self) -> Result<(), ApiError> {
        if self.code_id.is_none() {
            return Ok(());
        }
        let contradiction = if self.environment.is_empty() {
            "needs an environment, whose version it names"
        } else if self.code.is_some() {
            "contradicts code; set one of them"
        } else if self.use_cached_catalog || self.usecacheonfailure == Some(true) {
            "contradicts use_cached_catalog and usecacheonfailure: the last catalog of a node may be of another \
             version"
        } else {
            return Ok(());
        };
        Err(ApiError::invalid("code_id", contradiction))
    }

    /// Returns the batches, the pause between them, the tolerated failures and the splay of this job.
    pub fn rollout(&self) -> RolloutOptions {
        RolloutOptions {
            batch: self.batch.clone(),
            pause_between_batches: self.pause_between_batches,
            max_failures: self.max_failures,
            splay: self.splay,
        }
    }
}

fn yes() -> bool {
    true
}

fn null_is_yes<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<bool, D::Error> {
    Ok(Option::<bool>::deserialize(reader)?.unwrap_or(true))
}

/// Reads `null` as no scope, and anything else as a scope from an object.
fn optional_scope<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<Scope>, D::Error> {
    struct Keyed(Scope);
    impl<'de> Deserialize<'de> for Keyed {
        fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
            strict::deserialize_object(reader).map(Self)
        }
    }
    Ok(Option::<Keyed>::deserialize(reader)?.map(|Keyed(scope)| scope))
}
