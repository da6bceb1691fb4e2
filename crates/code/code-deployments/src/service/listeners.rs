//! Programs that take part in deployments: some are notified of a switch, others use versions. Main
//! types: [`VersionsInUse`] and [`DeploymentListeners`].

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use environments::EnvironmentName;

use super::hold_queue::CodeUser;
use super::observer::DeploymentObserver;
use code_store::code_cache::CodeCache;
use code_store::version::VersionSignature;
use file_sync::FileSync;

/// The programs that are notified of deployments.
#[derive(Clone, Debug, Default)]
pub struct DeploymentListeners {
    /// Programs on this machine that compile with the code.
    pub code_caches: Vec<Arc<dyn CodeCache>>,
    /// Forges and other remote programs that observe deployments.
    pub observers: Vec<Arc<dyn DeploymentObserver>>,
    /// File sync for the servers that follow this one; `None` if following is disabled.
    pub file_sync: Option<FileSync>,
}

/// Source of the versions that are in use, so that they are not removed.
#[async_trait]
pub trait VersionsInUse: fmt::Debug + Send + Sync {
    /// All versions in use. On an error no version is removed.
    async fn versions(&self) -> Result<HashSet<(EnvironmentName, VersionSignature)>, String>;

    /// The running plans and jobs that need their environment unchanged.
    async fn code_users(&self) -> Result<Vec<(CodeUser, EnvironmentName)>, String>;

    /// Returns when a plan, or a job that may hold an environment, is over.
    async fn wait_for_finished_user(&self);
}
