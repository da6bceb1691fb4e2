//! State of the handlers: the engines, and properties of this server.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use agent_catalogs::AgentCatalogs;
use api_types::{PlanCode, Route, RunCode};
use audit::Audit;
use catalogs::Catalogs;
use classifier::Classifier;
use environments::CodeReader;
use fabric::Fabric;
use inventory::Inventory;
use jobs::Jobs;
use optional_feature::FeatureStatus;
use partial_debug::partial_debug;
use pki::PrivilegedNames;
use plans::Plans;
use rbac::Rbac;
use run_reports::RunReports;
use store::Store;
use telemetry::metrics::MetricSet;
use tokio_util::sync::CancellationToken;
use webhooks::Webhooks;

use crate::budget::{BodyBudgets, ClientBudget};
use crate::defaults::{STREAMS, STREAMS_EACH};
use crate::{CodeService, ExternalDirectories, JobScheduler, ServerAuthority};

/// The engines that handlers call.
#[derive(Clone)]
pub struct ApiState {
    /// Starts and stops jobs.
    pub jobs: Jobs,
    /// Runs plans and stores their journals.
    pub plans: Plans,
    /// Database for everything that handlers read.
    pub store: Store,
    /// Connections of brokers and nodes.
    pub fabric: Fabric,
    /// Facts and reports of nodes.
    pub inventory: Inventory,
    /// Reports of Puppet runs that agents sent to this server.
    pub run_reports: RunReports,
    /// Node groups and their rules.
    pub classifier: Classifier,
    /// Connections of nodes without an agent.
    pub connections: ssh::SshConnections,
    /// Environments with their tasks and plans.
    pub code: Arc<dyn CodeReader>,
    /// The compiler of catalogs.
    pub catalogs: Catalogs,
    /// Catalogs that agents get.
    pub agent_catalogs: AgentCatalogs,
    /// The certificate authority; `None` if this server is no CA.
    pub certificates: Option<ServerAuthority>,
    /// Code deployment; `None` if another program deploys code.
    pub code_manager: Option<CodeService>,
    /// Users, roles and permissions (RBAC).
    pub access: Rbac,
    /// External directories (LDAP, OIDC).
    pub external_directories: ExternalDirectories,
    /// The audit log with its hash chain.
    pub audit: Audit,
    /// Scheduled jobs and their launcher.
    pub scheduler: JobScheduler,
    /// Webhooks that receive events.
    pub webhooks: Webhooks,
    /// Properties of this server.
    pub info: ServerInfo,
}

/// Properties of this server: version, addresses, privileges and default modes.
#[derive(Clone, Default)]
pub struct ServerInfo {
    /// Version of Tutti, as in `--version`.
    pub version: String,
    /// `https://HOST:PORT` for the ids of objects; `None`: the host of the request.
    pub base_url: Option<String>,
    /// True if `/metrics` needs no token.
    pub metrics_open: bool,
    /// Metrics of further engines, for `/metrics`.
    pub metrics: Vec<Arc<dyn MetricSet>>,
    /// Certnames with privileges: programs without a token, brokers on other machines, followers.
    pub privileged_names: Arc<PrivilegedNames>,
    /// Default code version of plans, by environment.
    pub plan_code: CodeModes<PlanCode>,
    /// Default for plans: true if they start without a person who could answer questions.
    pub plans_are_unattended: bool,
    /// Default code version of on-demand Puppet runs, by environment.
    pub run_code: CodeModes<RunCode>,
    /// Configured optional parts of the server, except code deployment.
    pub features: Vec<FeatureStatus>,
    /// Collects and exports the spans of traces.
    pub tracer: telemetry::Tracer,
    /// Cancelled when the server begins to shut down: event streams end then.
    pub stopping: CancellationToken,
}

/// A code version mode, by environment.
#[derive(Clone, Debug, Default)]
pub struct CodeModes<C> {
    /// The mode of environments that are not listed.
    pub everywhere: C,
    /// The mode of the listed environments.
    pub by_environment: BTreeMap<String, C>,
}

impl<C: Copy> CodeModes<C> {
    pub(crate) fn for_environment(&self, environment: &str) -> C {
        let of = self.by_environment.get(environment);
        of.copied().unwrap_or(self.everywhere)
    }
}

/// The state of every handler.
pub(crate) type SharedApiContext = Arc<ApiContext>;

/// The state of the layers around one route.
pub(crate) type RouteState = (SharedApiContext, &'static Route);

/// The engines, and the limits that all requests share.
pub(crate) struct ApiContext {
    engines: ApiState,
    /// Memory for the bodies of requests.
    pub(crate) bodies: BodyBudgets,
    /// Limit of open event streams.
    pub(crate) streams: ClientBudget,
}

impl From<ApiState> for ApiContext {
    fn from(engines: ApiState) -> Self {
        Self {
            engines,
            bodies: BodyBudgets::new(),
            streams: ClientBudget::new(STREAMS, STREAMS_EACH),
        }
    }
}

impl Deref for ApiContext {
    type Target = ApiState;

    fn deref(&self) -> &ApiState {
        &self.engines
    }
}

partial_debug!(ApiState { info });

partial_debug!(ServerInfo { version, base_url });
