//! What the handlers stand on: the engines, and a few facts about this server.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api_types::{PlanCode, RunCode};
use audit::Audit;
use classifier::Classifier;
use environments::Code;
use fabric::Fabric;
use inventory::Inventory;
use jobs::Jobs;
use optional_feature::FeatureStatus;
use pki::PrivilegedNames;
use plans::Plans;
use rbac::Access;
use schedules::Schedules;
use store::Store;
use tokio_util::sync::CancellationToken;
use webhooks::Webhooks;

use crate::budget::{Bodies, Budget};
use crate::defaults::{STREAMS, STREAMS_EACH};
use crate::{Certificates, Clockwork, CodeService, Elsewhere};

/// The engines.
#[derive(Clone)]
pub struct ApiState {
    /// Runs and stops.
    pub jobs: Jobs,
    /// Runs plans.
    pub plans: Plans,
    /// What is read.
    pub store: Store,
    /// Who is connected.
    pub fabric: Fabric,
    /// What is known of nodes.
    pub inventory: Inventory,
    /// The node groups.
    pub classifier: Classifier,
    /// How nodes without an agent are reached.
    pub connections: ssh::Connections,
    /// The tasks.
    pub code: Arc<dyn Code>,
    /// The certificate authority; `None`: this server is none.
    pub certificates: Option<Certificates>,
    /// Who deploys code; `None`: another program does.
    pub code_manager: Option<CodeService>,
    /// Who may do what.
    pub access: Access,
    /// Users who are not of this server.
    pub elsewhere: Elsewhere,
    /// Who did what.
    pub audit: Audit,
    /// What starts by itself.
    pub clock: Clockwork,
    /// Whom to tell about events.
    pub webhooks: Webhooks,
    /// About this server.
    pub info: Info,
}

/// Facts about this server.
#[derive(Clone, Default)]
pub struct Info {
    /// The version of Tutti.
    pub version: String,
    /// `https://HOST:PORT` for the ids of objects; `None`: as the client calls the server.
    pub base_url: Option<String>,
    /// Whether `/metrics` needs no token.
    pub metrics_open: bool,
    /// More figures for `/metrics`, for example the broker's.
    pub metrics: Vec<Arc<dyn MetricsSource>>,
    /// Certnames with rights: programs without a token, brokers on other machines, followers.
    pub privileged_names: Arc<PrivilegedNames>,
    /// Which code plans read that do not say.
    pub plan_code: Codes<PlanCode>,
    /// Plans that do not say otherwise are started without a person who could answer.
    pub plans_are_unattended: bool,
    /// Which code the nodes of on-demand Puppet runs get, where nothing is said.
    pub run_code: Codes<RunCode>,
    /// Configured parts of the server that may be missing, besides the deployments of code.
    pub features: Vec<FeatureStatus>,
    /// Who is told what belongs to which request.
    pub tracer: telemetry::Tracer,
    /// Cancelled when the server begins to shut down: event streams end then.
    pub stopping: CancellationToken,
}

/// Which code is worked with, by environment.
#[derive(Clone, Debug, Default)]
pub struct Codes<C> {
    /// In environments of which nothing is said.
    pub everywhere: C,
    /// In these.
    pub of: BTreeMap<String, C>,
}

impl<C: Copy> Codes<C> {
    pub(crate) fn of(&self, environment: &str) -> C {
        let of = self.of.get(environment);
        of.copied().unwrap_or(self.everywhere)
    }
}

/// Somebody who has figures.
pub trait MetricsSource: Send + Sync {
    /// Figures in the text form of Prometheus, with a newline at the end.
    fn text(&self) -> String;
}

/// What every handler gets.
pub(crate) type Shared = Arc<Inner>;

/// The engines, and what handlers share among themselves.
pub(crate) struct Inner {
    pub(crate) jobs: Jobs,
    pub(crate) plans: Plans,
    pub(crate) store: Store,
    pub(crate) fabric: Fabric,
    pub(crate) inventory: Inventory,
    pub(crate) classifier: Classifier,
    pub(crate) connections: ssh::Connections,
    pub(crate) code: Arc<dyn Code>,
    pub(crate) certificates: Option<Certificates>,
    pub(crate) code_manager: Option<CodeService>,
    pub(crate) access: Access,
    pub(crate) elsewhere: Elsewhere,
    pub(crate) audit: Audit,
    pub(crate) schedules: Schedules,
    pub(crate) fired: Arc<crate::schedules::Fired>,
    pub(crate) webhooks: Webhooks,
    pub(crate) info: Info,
    /// Memory for the bodies of requests.
    pub(crate) bodies: Bodies,
    /// Event streams.
    pub(crate) streams: Budget,
}

impl From<ApiState> for Inner {
    fn from(state: ApiState) -> Self {
        let ApiState {
            jobs,
            plans,
            store,
            fabric,
            inventory,
            classifier,
            connections,
            code,
            certificates,
            code_manager,
            access,
            elsewhere,
            audit,
            clock,
            webhooks,
            info,
        } = state;
        let bodies = Bodies::new();
        let streams = Budget::new(STREAMS, STREAMS_EACH);
        Self {
            jobs,
            plans,
            store,
            fabric,
            inventory,
            classifier,
            connections,
            code,
            certificates,
            code_manager,
            access,
            elsewhere,
            audit,
            schedules: clock.schedules,
            fired: clock.fired,
            webhooks,
            info,
            bodies,
            streams,
        }
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Info")
            .field("version", &self.version)
            .field("base_url", &self.base_url)
            .finish_non_exhaustive()
    }
}
