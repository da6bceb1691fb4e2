//! Options shared by `job run`, `job plan` and `schedule run`. Main types: [`PuppetRunTargets`],
//! [`PuppetRunFlags`].

use crate::terminal::escape_control;
use api_types::{DeployCommand, Object, RunCode, Scope};

use crate::client::ApiClient;
use crate::targets::TargetOptions;

/// Target nodes of a Puppet run, and its environment.
#[derive(Debug, clap::Args)]
pub(crate) struct PuppetRunTargets {
    #[command(flatten)]
    pub(crate) targets: TargetOptions,
    /// Run in this environment [default: that of orchestrator.conf, or each node's own]
    #[arg(long, short = 'e', value_name = "NAME")]
    environment: Option<String>,
    /// Also run on nodes that are classified into another environment
    #[arg(long)]
    no_enforce_environment: bool,
}

/// Flags of a Puppet run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Puppet")]
pub(crate) struct PuppetRunFlags {
    /// Show what would change, without changing it
    #[arg(long, conflicts_with = "no_noop")]
    pub(crate) noop: bool,
    /// Change resources even if the node's puppet.conf sets noop
    #[arg(long)]
    pub(crate) no_noop: bool,
    /// Code version that the nodes get: latest is the live one at the time of each catalog request
    /// [default: as configured on the server]
    #[arg(long, value_enum, value_name = "WHICH")]
    code: Option<JobCodeChoice>,
    /// Code version that the nodes get, whichever is live: its code id, or the first digits of the version, as in
    /// `tutti code versions`; for nodes whose agents get their catalogs from this server
    #[arg(
        long,
        value_name = "VERSION",
        conflicts_with_all = ["code", "use_cached_catalog", "usecacheonfailure"]
    )]
    code_id: Option<String>,
    /// Only resources with these tags, separated by commas
    #[arg(long, value_name = "TAGS")]
    pub(crate) tags: Option<String>,
    /// Skip resources with these tags, separated by commas
    #[arg(long, value_name = "TAGS")]
    pub(crate) skip_tags: Option<String>,
    /// Log debug messages on the node
    #[arg(long)]
    pub(crate) debug: bool,
    /// Log stack traces on the node
    #[arg(long)]
    pub(crate) trace: bool,
    /// Log each resource on the node as it is evaluated
    #[arg(long)]
    pub(crate) evaltrace: bool,
    /// Apply the cached catalog instead of requesting a new one
    #[arg(long)]
    pub(crate) use_cached_catalog: bool,
    /// Whether to apply the cached catalog if no new one can be had [default: the node's setting]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) usecacheonfailure: Option<bool>,
    /// Order in which resources are applied: manifest, title-hash or random
    #[arg(long, value_name = "ORDER")]
    pub(crate) ordering: Option<String>,
    /// How long the node caches file metadata, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = crate::duration::parse_seconds)]
    pub(crate) filetimeout: Option<u64>,
    /// Puppet's setting http_connect_timeout, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = crate::duration::parse_seconds)]
    pub(crate) http_connect_timeout: Option<u64>,
    /// Puppet's setting http_keepalive_timeout, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = crate::duration::parse_seconds)]
    pub(crate) http_keepalive_timeout: Option<u64>,
    /// Puppet's setting http_read_timeout, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = crate::duration::parse_seconds)]
    pub(crate) http_read_timeout: Option<u64>,
}

/// The code version that the nodes of a job get.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum JobCodeChoice {
    /// The live version at the time of each catalog request
    Latest,
    /// The same version for all: deployments of the environment wait until the job ends
    Lock,
}

impl From<JobCodeChoice> for RunCode {
    fn from(code: JobCodeChoice) -> Self {
        match code {
            JobCodeChoice::Latest => Self::Latest,
            JobCodeChoice::Lock => Self::Lock,
        }
    }
}

/// The environment of a Puppet run, and whether nodes of other environments run too.
pub(super) fn describe_environment(name: &str, enforced: bool) -> String {
    match escape_control(name).as_str() {
        "" => "each node's own".to_owned(),
        name if enforced => name.to_owned(),
        name => format!("{name} (not enforced)"),
    }
}

// === impl PuppetRunTargets ===

impl PuppetRunTargets {
    /// The environment, and whether it is enforced. Without an environment each node runs in its
    /// own, and there is nothing to enforce.
    pub(crate) fn environment(&self, client: &ApiClient) -> (String, bool) {
        let named = self.environment.as_ref().or(client.environment.as_ref());
        let name = named.map_or_else(String::new, Clone::clone);
        let enforced = !self.no_enforce_environment && !name.is_empty();
        (name, enforced)
    }
}

// === impl PuppetRunFlags ===

impl PuppetRunFlags {
    /// The API command with these flags. `orchestrator.conf` may set noop by default; `--no-noop`
    /// overrides it.
    pub(crate) fn command(
        self,
        client: &ApiClient,
        environment: &str,
        enforce_environment: bool,
        scope: Scope,
    ) -> DeployCommand {
        DeployCommand {
            environment: environment.to_owned(),
            scope: Some(scope),
            target: None,
            enforce_environment,
            barrier: false,
            quarantine: false,
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
            code_id: self.code_id,
            concurrency: None,
            batch: None,
            pause_between_batches: None,
            max_failures: None,
            splay: None,
            timeout: None,
            description: String::new(),
            userdata: Object::new(),
        }
    }
}
