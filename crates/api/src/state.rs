//! What the handlers stand on: the engines, and a few facts about this server.

use std::fmt;
use std::sync::Arc;

use access::Access;
use deploy::Code;
use fabric::Fabric;
use jobs::Jobs;
use pcp::Certname;
use store::Store;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::defaults::{BODY_BUDGET_BYTES, STREAMS};

/// The engines.
#[derive(Clone)]
pub struct ApiState {
    /// Runs and stops.
    pub jobs: Jobs,
    /// What is read.
    pub store: Store,
    /// Who is connected.
    pub fabric: Fabric,
    /// The tasks.
    pub code: Arc<dyn Code>,
    /// Who may do what.
    pub access: Access,
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
    /// Certnames of the brokers on other machines that may connect to `/server`.
    pub brokers: Vec<Certname>,
    /// Cancelled when the server begins to shut down: event streams end then.
    pub stopping: CancellationToken,
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
    pub(crate) store: Store,
    pub(crate) fabric: Fabric,
    pub(crate) code: Arc<dyn Code>,
    pub(crate) access: Access,
    pub(crate) info: Info,
    /// KiB of request bodies that may be read now.
    pub(crate) bodies: Semaphore,
    /// Event streams that may be opened now.
    pub(crate) streams: Arc<Semaphore>,
}

impl From<ApiState> for Inner {
    fn from(state: ApiState) -> Self {
        let ApiState {
            jobs,
            store,
            fabric,
            code,
            access,
            info,
        } = state;
        let bodies = Semaphore::new(BODY_BUDGET_BYTES / 1_024);
        let streams = Arc::new(Semaphore::new(STREAMS));
        Self {
            jobs,
            store,
            fabric,
            code,
            access,
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
