//! The service that deploys code: [`CodeManager`].

use super::actor::SubmittedDeployments;
use super::actor::{DeploymentActor, ServiceRequest};
use super::current_deployer::CurrentDeployer;
use super::deployment_record::Deployment;
use super::deployment_record::DeploymentAction;
use super::deployment_record::DeploymentRequester;
use super::environment_locks::EnvironmentHold;
use super::environment_locks::EnvironmentLocks;
use super::error::DeploymentSubmitError;
use super::error::ServiceStartError;
use super::garbage_collection::DiskUse;
use super::garbage_collection::GarbageCollector;
use super::hold_queue::CodeUser;
use super::hold_queue::HoldBlockers;
use super::hold_queue::HoldRequester;
use super::listeners::DeploymentListeners;
use super::listeners::VersionsInUse;
use super::perform::DeploymentTools;
use crate::defaults::{KEEP_HISTORY, REQUESTS, WORKER_WAIT};
use crate::deployer::Deployer;
use api_types::LateFollower;
use code_settings::R10kFileError;
use code_store::gc::CollectedGarbage;
use code_store::write_probe::WriteObstacle;
use environments::EnvironmentName;
use file_sync::{AnnouncedSwitch, FileSync};
use partial_debug::partial_debug;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use store::{Store, StoreError, now_ms};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Deploys code, one environment after the other. Cheap to clone.
#[derive(Clone)]
pub struct CodeManager {
    pub(super) inner: Arc<CodeManagerInner>,
}

pub(super) struct CodeManagerInner {
    pub(super) tools: DeploymentTools,
    pub(super) in_use: Arc<dyn VersionsInUse>,
    pub(super) to_actor: mpsc::Sender<ServiceRequest>,
    pub(super) disk_use: watch::Receiver<Option<DiskUse>>,
    /// Held during a verification, so that only one runs at a time.
    pub(super) verifying: Arc<tokio::sync::Mutex<()>>,
    pub(super) stop: CancellationToken,
    pub(super) running: Mutex<Vec<JoinHandle<()>>>,
}

// === impl CodeManager ===

impl CodeManager {
    /// Starts the service, and continues deployments that were unfinished when the server stopped.
    pub async fn start(
        deployer: Deployer,
        store: Store,
        in_use: Arc<dyn VersionsInUse>,
        others: DeploymentListeners,
    ) -> Result<Self, ServiceStartError> {
        let age = i64::try_from(KEEP_HISTORY.as_millis()).unwrap_or(i64::MAX);
        store
            .prune_code_deploys(now_ms().saturating_sub(age))
            .await?;
        let open = store.open_code_deploys().await?;
        deployer.claim()?;
        let locks = EnvironmentLocks::default();
        // The holds are restored before anything is switched.
        for (worker, environment) in in_use
            .code_users()
            .await
            .map_err(ServiceStartError::InUse)?
        {
            locks.restore(worker, &environment);
        }
        let tools = DeploymentTools {
            current: Arc::new(CurrentDeployer::new(deployer.clone())),
            deployer,
            store,
            locks,
            listeners: others,
        };
        let (to_actor, inbox) = mpsc::channel(REQUESTS);
        let stop = CancellationToken::new();
        let (found, disk_use) = watch::channel(None);
        let room = GarbageCollector::new(Arc::clone(&in_use), found);
        let actor = DeploymentActor::new(tools.clone(), open, room);
        let keeper = release_periodically(tools.locks.clone(), Arc::clone(&in_use));
        let keeper = stop.clone().run_until_cancelled_owned(keeper);
        let running = vec![
            tokio::spawn(actor.run(inbox, stop.clone())),
            tokio::spawn(async move {
                // This task does not end by itself.
                let _: Option<()> = keeper.await;
            }),
        ];
        Ok(Self {
            inner: Arc::new(CodeManagerInner {
                tools,
                in_use,
                to_actor,
                disk_use,
                verifying: Arc::default(),
                stop,
                running: Mutex::new(running),
            }),
        })
    }

    /// Stops the service; unfinished deployments continue after the next start.
    pub async fn shutdown(&self) {
        self.inner.stop.cancel();
        let running: Vec<_> = {
            let running = self.inner.running.lock();
            running
                .unwrap_or_else(PoisonError::into_inner)
                .drain(..)
                .collect()
        };
        for running in running {
            // A panic was reported when it happened.
            drop(running.await);
        }
    }

    /// Waits until no deployment switches the environment, and prevents further switches; on a
    /// timeout, returns the holders that it waited for.
    pub async fn hold(
        &self,
        environment: &EnvironmentName,
    ) -> Result<EnvironmentHold, HoldBlockers> {
        let locks = &self.inner.tools.locks;
        locks
            .acquire(environment, HoldRequester::Worker(None), WORKER_WAIT)
            .await
    }

    /// Assigns a hold to a plan or a job, which keeps it until it is over.
    pub async fn assign_hold(&self, worker: CodeUser, hold: EnvironmentHold) {
        self.inner.tools.locks.assign(worker, hold);
        // The worker may be over already.
        release(&self.inner.tools.locks, &*self.inner.in_use).await;
    }

    /// The holders that deployments wait for, by the numbers of the deployments.
    pub fn waiting_deployments(&self) -> HashMap<i64, HoldBlockers> {
        self.inner.tools.locks.waiting_deployments()
    }

    /// Queues these pieces of work.
    pub async fn submit(
        &self,
        wanted: Vec<(EnvironmentName, DeploymentAction)>,
        by: DeploymentRequester,
    ) -> Result<SubmittedDeployments, DeploymentSubmitError> {
        let (reply, answer) = oneshot::channel();
        let message = ServiceRequest::Submit { wanted, by, reply };
        let sent = self.inner.to_actor.send(message).await;
        sent.map_err(|_| DeploymentSubmitError::Stopping)?;
        answer.await.map_err(|_| DeploymentSubmitError::Stopping)?
    }

    /// True if a staging directory is configured, from which environments can be published.
    pub fn has_staging(&self) -> bool {
        self.inner.tools.deployer.has_staging()
    }

    /// File sync for the followers; `None` if following is disabled.
    pub fn file_sync(&self) -> Option<&FileSync> {
        self.inner.tools.listeners.file_sync.as_ref()
    }

    /// Followers that have neither the version that a deployment made live nor a newer one.
    pub fn late_followers(&self, deployment: &Deployment) -> Vec<LateFollower> {
        let outcome = deployment.outcome.as_ref();
        let (Some(sync), Some(generation)) =
            (self.file_sync(), outcome.and_then(|it| it.generation))
        else {
            return Vec::new();
        };
        let Ok(environment) = deployment.environment.parse() else {
            return Vec::new();
        };
        let signature = deployment.signature.as_ref();
        let announced = AnnouncedSwitch {
            generation,
            signature: signature.and_then(|it| it.parse().ok()),
        };
        sync.lagging_followers(&environment, &announced)
    }

    /// The environments of a branch in the sources with this prefix; in all sources if it is
    /// `None`. Uses the last valid settings.
    pub fn environments_of_branch(
        &self,
        branch: &str,
        prefix: Option<&str>,
    ) -> Vec<EnvironmentName> {
        let current = &self.inner.tools.current;
        let deployer = current.reload().unwrap_or_else(|_| current.last_valid());
        deployer.environments_of_branch(branch, prefix)
    }

    /// The error of the settings for which deployments from sources are refused at the moment, if
    /// any.
    pub async fn settings_fault(&self) -> Option<Arc<R10kFileError>> {
        self.inner.tools.current.reload_settled().await.err()
    }

    /// Obstacles that keep every deployment from going live at the moment, from a probe of the
    /// directories.
    pub async fn write_obstacles(&self) -> Vec<WriteObstacle> {
        let probe = self.inner.tools.deployer.probe();
        let probed = tokio::task::spawn_blocking(move || probe.obstacles()).await;
        // A panic was reported when it happened.
        probed.unwrap_or_default()
    }

    /// The deployment with this number; `None` if there is none.
    pub async fn deployment(&self, id: i64) -> Result<Option<Deployment>, StoreError> {
        let row = self.inner.tools.store.code_deploy(id).await?;
        Ok(row.map(Into::into))
    }

    /// Unfinished deployments, oldest first.
    pub async fn open_deployments(&self) -> Result<Vec<Deployment>, StoreError> {
        let rows = self.inner.tools.store.open_code_deploys().await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// The last deployment of each environment whose last deployment failed.
    pub async fn failed_deployments(&self) -> Result<Vec<Deployment>, StoreError> {
        let rows = self.inner.tools.store.failed_code_deploys().await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// The newest finished deployment of each environment; none for removed environments.
    pub async fn newest_deployments(&self) -> Result<Vec<Deployment>, StoreError> {
        let rows = self.inner.tools.store.newest_code_deploys().await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// The last deployment of each environment that made a version live.
    pub async fn live_deployments(&self) -> Result<Vec<Deployment>, StoreError> {
        let rows = self.inner.tools.store.live_code_deploys().await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Deployments before this number, newest first.
    pub async fn history(
        &self,
        environment: Option<&EnvironmentName>,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<Deployment>, StoreError> {
        let environment = environment.map(EnvironmentName::as_str);
        let rows = self
            .inner
            .tools
            .store
            .code_deploys(environment, before, limit);
        Ok(rows.await?.into_iter().map(Into::into).collect())
    }

    /// Runs a garbage collection, as soon as the running deployments are over.
    pub async fn collect(&self, dry_run: bool) -> Result<CollectedGarbage, DeploymentSubmitError> {
        let (reply, answer) = oneshot::channel();
        let message = ServiceRequest::Collect { dry_run, reply };
        let sent = self.inner.to_actor.send(message).await;
        sent.map_err(|_| DeploymentSubmitError::Stopping)?;
        answer.await.map_err(|_| DeploymentSubmitError::Stopping)?
    }

    /// Disk use after the last garbage collection; the receiver is notified after the next one.
    pub fn disk_use(&self) -> watch::Receiver<Option<DiskUse>> {
        self.inner.disk_use.clone()
    }
}

partial_debug!(CodeManager {});

/// Releases the holds of workers that are over, whenever one ends.
async fn release_periodically(locks: EnvironmentLocks, in_use: Arc<dyn VersionsInUse>) {
    loop {
        in_use.wait_for_finished_user().await;
        release(&locks, &*in_use).await;
    }
}

async fn release(locks: &EnvironmentLocks, in_use: &dyn VersionsInUse) {
    let holds = locks.worker_holds();
    if holds.is_empty() {
        return;
    }
    match in_use.code_users().await {
        Ok(holding) => {
            let running = holding.into_iter().map(|(worker, _)| worker).collect();
            locks.release_except(&holds, &running);
        }
        // The holds are checked again when the next worker ends.
        Err(error) => tracing::warn!(%error, "cannot see which plans and jobs are over"),
    }
}
