//! What `job run`, `job plan` and `schedule run` have in common. Main types: [`Where`], [`Flags`].

use api_types::{DeployCommand, Object, RunCode, Scope};

use crate::client::Client;
use crate::targets::Targets;

/// On which nodes, and with the code of which environment.
#[derive(Debug, clap::Args)]
pub(crate) struct Where {
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// Run with the code of this environment [default: that of orchestrator.conf, or each node's own]
    #[arg(long, short = 'e', value_name = "NAME")]
    environment: Option<String>,
    /// Also run on nodes that are classified into another environment
    #[arg(long)]
    no_enforce_environment: bool,
}

/// How Puppet is to run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Puppet")]
pub(crate) struct Flags {
    /// Show what would change, and change nothing
    #[arg(long, conflicts_with = "no_noop")]
    pub(crate) noop: bool,
    /// Change things although the node's puppet.conf says noop
    #[arg(long)]
    pub(crate) no_noop: bool,
    /// Which code the nodes get: latest is what is live when each asks for its catalog [default: as the server
    /// is configured]
    #[arg(long, value_enum, value_name = "WHICH")]
    code: Option<Code>,
    /// Only resources with these tags; commas between them
    #[arg(long, value_name = "TAGS")]
    pub(crate) tags: Option<String>,
    /// No resources with these tags; commas between them
    #[arg(long, value_name = "TAGS")]
    pub(crate) skip_tags: Option<String>,
    /// Log more on the node
    #[arg(long)]
    pub(crate) debug: bool,
    /// Log stack traces on the node
    #[arg(long)]
    pub(crate) trace: bool,
    /// Log each resource on the node as it is evaluated
    #[arg(long)]
    pub(crate) evaltrace: bool,
    /// Apply the last catalog instead of asking for a new one
    #[arg(long)]
    pub(crate) use_cached_catalog: bool,
    /// Whether the last catalog is applied when there is no new one [default: as the node is set]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) usecacheonfailure: Option<bool>,
    /// In which order resources are applied: manifest, title-hash or random
    #[arg(long, value_name = "ORDER")]
    pub(crate) ordering: Option<String>,
    /// How long file metadata is trusted on the node
    #[arg(long, value_name = "SECONDS", value_parser = crate::span::seconds)]
    pub(crate) filetimeout: Option<u64>,
    /// Puppet's setting
    #[arg(long, value_name = "SECONDS", value_parser = crate::span::seconds)]
    pub(crate) http_connect_timeout: Option<u64>,
    /// Puppet's setting
    #[arg(long, value_name = "SECONDS", value_parser = crate::span::seconds)]
    pub(crate) http_keepalive_timeout: Option<u64>,
    /// Puppet's setting
    #[arg(long, value_name = "SECONDS", value_parser = crate::span::seconds)]
    pub(crate) http_read_timeout: Option<u64>,
}

/// Which code the nodes of a job get.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Code {
    /// Each what is live when it asks for its catalog
    Latest,
    /// All the same: deployments of the environment wait until the job is over
    Lock,
}

impl From<Code> for RunCode {
    fn from(code: Code) -> Self {
        match code {
            Code::Latest => Self::Latest,
            Code::Lock => Self::Lock,
        }
    }
}

// === impl Where ===

impl Where {
    /// The environment and whether it is enforced. Without one, each node runs in its own, and there
    /// is nothing to enforce.
    pub(crate) fn environment(&self, client: &Client) -> (String, bool) {
        let named = self.environment.as_ref().or(client.environment.as_ref());
        let name = named.map_or_else(String::new, Clone::clone);
        let enforced = !self.no_enforce_environment && !name.is_empty();
        (name, enforced)
    }
}

// === impl Flags ===

impl Flags {
    /// The command with these flags. `orchestrator.conf` may make noop the habit; `--no-noop` is
    /// stronger.
    pub(crate) fn command(
        self,
        client: &Client,
        environment: &str,
        enforce_environment: bool,
        scope: Scope,
    ) -> DeployCommand {
        DeployCommand {
            environment: environment.to_owned(),
            scope: Some(scope),
            target: None,
            enforce_environment,
            noop: self.noop || (client.noop && !self.no_noop),
            no_noop: self.no_noop,
            debug: self.debug,
            trace: self.trace,
            evaltrace: self.evaltrace,
            use_cached_catalog: self.use_cached_catalog,
            usecacheonfailure: self.usecacheonfailure,
            filetimeout: self.filetimeout,
            http_connect_timeout: self.http_connect_timeout,
            http_keepalive_timeout: self.http_keepalive_timeout,
            http_read_timeout: self.http_read_timeout,
            ordering: self.ordering,
            tags: self.tags,
            skip_tags: self.skip_tags,
            code: self.code.map(RunCode::from),
            concurrency: None,
            batch: None,
            pause_between_batches: None,
            max_failures: None,
            timeout: None,
            description: String::new(),
            userdata: Object::new(),
        }
    }
}
