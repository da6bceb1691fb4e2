//! The handle that the rest of the server holds.
//!
//! [`Jobs`] is cheap to clone; behind it are the engine and the pruner. Invariant: its answers are
//! durable, and after [`Jobs::shutdown`] none of its tasks runs any more.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use environments::{BlobStore, CodeReader, EnvironmentName};
use fabric::{EngineInbox, Fabric};
use pcp::Certname;
use pki::seal::SealKey;
use pxp::action::CodeId;
use pxp::action::ShownLease;
use store::{JobNumber, Store, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::applications::{NodeOrder, PlannedNodes, PlannedPasses, RunPasses};
use crate::blocking_requests::{BlockingRequests, NodeRequestError};
use crate::config::JobsConfig;
use crate::defaults::{CLOCK_JITTER_MS, COMMANDS, LIVE_REPORTS, SCOPE_NODES};
use crate::engine::{EngineCommand, EngineServices, JobEngine, PreparedJob};
use crate::in_flight::PollSettings;
use crate::leases::{self, LeaseServices, NodeAnswer};
use crate::metrics::JobMetrics;
use crate::node_environments::find_outside_environment;
use crate::node_params_budget::NodeParamsBudget;
use crate::ping::{self, PingResult};
use crate::plan_jobs::PlanJobs;
use crate::prepare::JobPreparer;
use crate::presence_log::{self, PresenceLog};
use crate::prune::JobPruner;
use crate::refusal::RunJobError;
use crate::resolve::NodeResolveError;
use crate::returning_nodes::ReturningNodes;
use crate::running_jobs::RunningJobs;
use crate::spec::JobSpec;
use crate::submit::JobSubmitError;
use crate::targets::{NodeScope, ScopeError, TargetSources, resolve_targets};
use crate::withdrawals::WithdrawnJobs;

/// The job engine. Cheap to clone.
#[derive(Clone)]
pub struct Jobs {
    shared: Arc<JobsHandleState>,
}

struct JobsHandleState {
    config: JobsConfig,
    store: Store,
    fabric: Fabric,
    preparation: JobPreparer,
    commands: mpsc::Sender<EngineCommand>,
    blocking_requests: Arc<BlockingRequests>,
    metrics: Arc<JobMetrics>,
    /// Set when the engine ended without a shutdown request.
    lost: watch::Receiver<Option<EngineLost>>,
    puppet_ends: watch::Receiver<u64>,
    returning: Arc<ReturningNodes>,
    running: Arc<RunningJobs>,
    stopped: CancellationToken,
    tasks: TaskTracker,
}

/// Reason that the engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum JobsStartError {
    /// The unfinished jobs cannot be read.
    #[error("cannot read the unfinished jobs, or which nodes were connected")]
    Store(#[from] StoreError),
    /// Without this it is not known which of them must not start.
    #[error("cannot read {}, which names jobs that must not start", path.display())]
    Withdrawals {
        /// The directory that records withdrawn jobs.
        path: PathBuf,
        /// The error from reading that directory.
        source: io::Error,
    },
}

/// Reason that a job was not stopped.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// No job has this number.
    #[error("unknown job {0}")]
    UnknownJob(JobNumber),
    /// The store cannot be read.
    #[error("cannot read the job")]
    Store(#[from] StoreError),
    /// The server is shutting down.
    #[error("the server is shutting down; stop the job when it is back")]
    ShuttingDown,
}

/// Reason that the engine ended without a shutdown request.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineLost {
    /// The store accepts no more writes.
    #[error("the store takes nothing any more")]
    Store(#[from] StoreError),
    /// A bug in the engine.
    #[error("the job engine broke (a bug; please report it): {0}")]
    Broken(String),
    /// The connection to the broker fabric has closed.
    #[error("the messages between brokers and the job engine came to an end")]
    Fabric,
}

// === impl Jobs ===

impl Jobs {
    /// Starts the engine and resumes the unfinished jobs of the previous process.
    pub async fn start(
        config: JobsConfig,
        store: Store,
        fabric: Fabric,
        inbox: EngineInbox,
        code: Arc<dyn CodeReader>,
        blobs: BlobStore,
        seal: SealKey,
    ) -> Result<Self, JobsStartError> {
        let seal = Arc::new(seal);
        let (commands, queue) = mpsc::channel(COMMANDS);
        let (reports, taken) = mpsc::channel(LIVE_REPORTS);
        let stopped = CancellationToken::new();
        let asks = Arc::<BlockingRequests>::default();
        let metrics = Arc::<JobMetrics>::default();
        let withdrawals = WithdrawnJobs::new(config.withdrawals.clone());
        let (over, puppet_over) = watch::channel(0);
        let before = presence_log::load_connected(&store).await?;
        let returning = Arc::new(ReturningNodes::new(before.clone(), Instant::now()));
        let running = Arc::<RunningJobs>::default();
        let node_params = NodeParamsBudget::default();
        let mut engine = JobEngine::new(EngineServices {
            store: store.clone(),
            fabric: fabric.clone(),
            clock: Arc::clone(&config.clock),
            seal: Arc::clone(&seal),
            blocking_requests: Arc::clone(&asks),
            metrics: Arc::clone(&metrics),
            poll_settings: PollSettings {
                poll_interval: config.poll_interval,
                poll_limit: config.poll_limit,
                cancel_grace: config.cancel_grace,
            },
            task_concurrency: config.task_concurrency,
            global_concurrent_compiles: config.global_concurrent_compiles,
            resolve: Arc::clone(&config.resolve),
            applications: Arc::clone(&config.applications),
            console_url: config.console_url.clone(),
            file_server: config.file_server.clone(),
            reconnect_grace: config.reconnect_grace,
            away_grace: config.away_grace,
            leases: config.leases,
            tick: config.tick,
            reports,
            running: Arc::clone(&running),
            puppet_ends: over,
            withdrawals: withdrawals.clone(),
            node_params: node_params.clone(),
            tracer: config.tracer.clone(),
            job_catalogs: config.job_catalogs.clone(),
            stopped: stopped.clone(),
            returning: Arc::clone(&returning),
        });
        let withdrawn = withdrawals
            .load_all()
            .map_err(|source| JobsStartError::Withdrawals {
                path: withdrawals.directory_path(),
                source,
            })?;
        engine.recover(&seal, withdrawn).await?;
        let tasks = TaskTracker::new();
        let (lost_sender, lost) = watch::channel(None);
        let ending = stopped.clone();
        let working = tasks.spawn(engine.run(queue, taken, inbox));
        tasks.spawn(async move {
            let ended = working.await;
            let reason = find_lost_reason(ended, ending.is_cancelled());
            if let Some(reason) = &reason {
                tracing::error!(%reason, "the job engine has ended by itself");
            }
            // No request is answered from now on.
            ending.cancel();
            lost_sender.send_replace(reason);
        });
        let presence = PresenceLog::new(store.clone(), fabric.clone(), before, config.away_grace);
        tasks.spawn(presence.run(config.presence_interval, stopped.clone()));
        if let Some(after) = config.prune_after {
            let pruner = JobPruner {
                store: store.clone(),
                clock: Arc::clone(&config.clock),
                after,
                every: config.prune_every,
                downloads: config.downloads.clone(),
                stopped: stopped.clone(),
            };
            tasks.spawn(pruner.run());
        }
        tasks.close();
        let preparation = JobPreparer {
            code,
            blobs,
            seal,
            clock: Arc::clone(&config.clock),
            applications: Arc::clone(&config.applications),
            compilers: Arc::clone(&config.compilers),
            resolve: Arc::clone(&config.resolve),
            run_timeout: config.run_timeout,
            downloads: config.downloads.clone(),
            tracer: config.tracer.clone(),
            node_params,
        };
        let shared = JobsHandleState {
            config,
            store,
            fabric,
            preparation,
            commands,
            blocking_requests: asks,
            metrics,
            lost,
            puppet_ends: puppet_over,
            returning,
            running,
            stopped,
            tasks,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Time since the start of a job, by a clock that is never set; `None` if the job is not
    /// running.
    pub fn elapsed(&self, job: JobNumber) -> Option<Duration> {
        self.shared.running.elapsed(job)
    }

    /// Converts a deadline stored by the steady clock to the time of day, for display. The two
    /// clocks differ only if the machine's clock was set.
    pub fn to_time_of_day(&self, steady_ms: i64) -> i64 {
        let clock = &self.shared.config.clock;
        let set_ms = clock.now_ms().saturating_sub(clock.steady_ms());
        match set_ms.saturating_abs() < CLOCK_JITTER_MS {
            true => steady_ms,
            false => steady_ms.saturating_add(set_ms),
        }
    }

    /// Runs a job. The job is durable when its number is returned; once handed over it is run
    /// even if the caller goes away.
    pub async fn run(&self, spec: JobSpec) -> Result<JobNumber, RunJobError> {
        let plan = spec.plan_step.as_ref().map(|step| step.plan_job);
        let plan = plan.zip(Some(spec.owner_id.clone()));
        if let Some((plan, owner)) = &plan {
            Box::pin(self.plan_jobs().check_step(*plan, owner)).await?;
        }
        // Boxed, so that the caller's future does not hold the whole state of the preparation.
        let job = Box::new(Box::pin(self.shared.preparation.prepare(spec)).await?);
        match (self.submit(job).await, plan) {
            // The plan may have ended meanwhile; then the store refused its step.
            (Err(JobSubmitError::Store(error)), Some((plan, owner))) => {
                Box::pin(self.plan_jobs().check_step(plan, &owner)).await?;
                Err(JobSubmitError::Store(error).into())
            }
            (taken, _) => Ok(taken?),
        }
    }

    /// The record of plan jobs.
    pub fn plan_jobs(&self) -> PlanJobs {
        let JobsHandleState { store, config, .. } = &*self.shared;
        PlanJobs::new(store.clone(), Arc::clone(&config.clock))
    }

    /// Changes whenever a job of Puppet runs has ended, after that is durable.
    pub fn watch_puppet_ends(&self) -> watch::Receiver<u64> {
        self.shared.puppet_ends.clone()
    }

    /// The nodes, by name, that were connected when the previous server process ended, are not back
    /// yet, and are still waited for. If read before the connected nodes, both lists together are
    /// every node that counts as connected.
    pub fn returning_nodes(&self) -> Vec<Certname> {
        self.shared.returning.list_returning(Instant::now())
    }

    /// Time that returning nodes are waited for.
    pub fn returning_grace(&self) -> Duration {
        self.shared.config.away_grace
    }

    /// The nodes that a scope resolves to, for a command of the user with the id `owner` in this environment; empty:
    /// it names none.
    pub async fn resolve_targets(
        &self,
        scope: &NodeScope,
        environment: &str,
        owner: &str,
    ) -> Result<Vec<Certname>, ScopeError> {
        let environment = environment.parse().ok();
        resolve_targets(scope, environment.as_ref(), &self.sources(owner)).await
    }

    /// The nodes that the scope of a job resolves to, with the code that the job names.
    pub async fn resolve_job(&self, spec: &JobSpec) -> Result<Vec<Certname>, ScopeError> {
        let config = &self.shared.config;
        let code_id = spec.work.known_code_id();
        let sources = TargetSources::new(
            &*config.resolve,
            &*config.applications,
            code_id.as_ref(),
            &spec.owner_id,
        );
        resolve_targets(&spec.scope, spec.work.environment(), &sources).await
    }

    /// The order in which the nodes of a scope run Puppet in this environment, whose live code is used.
    ///
    /// # Errors
    /// The scope resolves to no nodes, or they have no order.
    pub async fn node_order(
        &self,
        scope: &NodeScope,
        environment: &EnvironmentName,
        owner: &str,
    ) -> Result<PlannedNodes, RunJobError> {
        let sources = self.sources(owner);
        let nodes = resolve_targets(scope, Some(environment), &sources).await?;
        let applications = sources.environment_applications(environment).await;
        let applications = applications.map_err(ScopeError::from)?.unwrap_or_default();
        let order = NodeOrder::new(&applications, nodes)?;
        Ok(PlannedNodes {
            applications,
            order,
        })
    }

    /// The passes in which the nodes of a scope run Puppet in this environment. `code_id` is the version whose
    /// applications count; `None` for the live one.
    ///
    /// # Errors
    /// The scope resolves to no nodes, or there are no such passes.
    pub async fn node_passes(
        &self,
        scope: &NodeScope,
        (environment, code_id): (&EnvironmentName, Option<&CodeId>),
        owner: &str,
    ) -> Result<PlannedPasses, RunJobError> {
        let config = &self.shared.config;
        let sources = TargetSources::new(&*config.resolve, &*config.applications, code_id, owner);
        let nodes = resolve_targets(scope, Some(environment), &sources).await?;
        let applications = sources.environment_applications(environment).await;
        let applications = applications.map_err(ScopeError::from)?.unwrap_or_default();
        let passes = RunPasses::new(&applications, &nodes)?;
        Ok(PlannedPasses {
            applications,
            passes,
        })
    }

    fn sources<'a>(&'a self, owner: &'a str) -> TargetSources<'a> {
        let config = &self.shared.config;
        TargetSources::new(&*config.resolve, &*config.applications, None, owner)
    }

    /// The nodes, of these, that are not in this environment: by the classifier, or else by their
    /// last Puppet run, or else by [`UNKNOWN_ENVIRONMENT`](crate::defaults::UNKNOWN_ENVIRONMENT).
    pub async fn find_outside_environment(
        &self,
        nodes: &[Certname],
        environment: &str,
    ) -> Result<Vec<Certname>, NodeResolveError> {
        find_outside_environment(nodes, environment, &*self.shared.config.resolve).await
    }

    async fn submit(&self, job: Box<PreparedJob>) -> Result<JobNumber, JobSubmitError> {
        let (reply, answer) = oneshot::channel();
        self.send_command(EngineCommand::Run { job, reply })
            .await
            .ok_or(JobSubmitError::ShuttingDown)?;
        answer.await.map_err(|_| JobSubmitError::Unanswered)?
    }

    /// Stops a job: nothing new starts; with `force`, running actions are cancelled. Returns when
    /// that is durable. A job that is over, or stopping already, is left as it is.
    pub async fn stop(&self, job: JobNumber, force: bool) -> Result<(), StopError> {
        let (reply, answer) = oneshot::channel();
        self.send_command(EngineCommand::Stop { job, force, reply })
            .await
            .ok_or(StopError::ShuttingDown)?;
        let active = answer.await.map_err(|_| StopError::ShuttingDown)?;
        if !active && self.shared.store.job(job).await?.is_none() {
            return Err(StopError::UnknownJob(job));
        }
        Ok(())
    }

    /// Pings nodes through the broker; results in the order asked.
    pub async fn ping(&self, nodes: &[Certname]) -> Vec<PingResult> {
        let JobsHandleState {
            fabric,
            config,
            blocking_requests: asks,
            ..
        } = &*self.shared;
        let nodes = &nodes[..nodes.len().min(SCOPE_NODES)];
        ping::ping_all(asks, fabric, &*config.clock, nodes, config.ping_timeout).await
    }

    /// The leases of nodes as their agents say, in the order asked; `None` for a node without one.
    pub async fn leases(&self, nodes: &[Certname]) -> Vec<NodeAnswer<Option<ShownLease>>> {
        let nodes = &nodes[..nodes.len().min(SCOPE_NODES)];
        leases::show_all(&self.lease_services(), nodes).await
    }

    /// Lets nodes run Puppet by themselves again; `false` for a node that had no lease. A job that has the lease goes on
    /// without it.
    pub async fn release_leases(&self, nodes: &[Certname]) -> Vec<NodeAnswer<bool>> {
        let nodes = &nodes[..nodes.len().min(SCOPE_NODES)];
        leases::release_all(&self.lease_services(), nodes).await
    }

    fn lease_services(&self) -> LeaseServices {
        let shared = &self.shared;
        LeaseServices {
            fabric: shared.fabric.clone(),
            requests: Arc::clone(&shared.blocking_requests),
            returning: Arc::clone(&shared.returning),
            times: shared.config.leases,
        }
    }

    /// Sends a blocking request to a node and waits for its results. Only for actions that change
    /// nothing: the request is not stored, and an answer that comes too late is lost.
    pub async fn send_blocking_request(
        &self,
        certname: &Certname,
        module: &str,
        action: &str,
        params: &serde_json::Value,
        timeout: Duration,
    ) -> Result<serde_json::Value, NodeRequestError> {
        let JobsHandleState {
            fabric,
            blocking_requests: asks,
            ..
        } = &*self.shared;
        let params = pxp::action::encode(params);
        let results = asks.send_request(fabric, certname, (module, action), params, timeout);
        decode_errors::json::from_str(results.await?.get())
            .map_err(|error| NodeRequestError::Unreadable(error.to_string()))
    }

    /// Counters and gauges of the engine.
    pub fn metrics(&self) -> &Arc<JobMetrics> {
        &self.shared.metrics
    }

    /// Returns when the engine has ended without a shutdown request, with the reason: its store
    /// accepts no more writes (it was closed, or another server took the database over), or a bug.
    /// The only remedy is to end the process: a new one resumes the jobs.
    pub async fn wait_until_lost(&self) -> EngineLost {
        let mut lost = self.shared.lost.clone();
        let error = match lost.wait_for(Option::is_some).await {
            Ok(error) => error.clone(),
            // The engine ended in order.
            Err(_) => None,
        };
        match error {
            Some(error) => error,
            None => std::future::pending().await,
        }
    }

    /// Shuts the engine down: pending changes are written, requests marked for sending are sent,
    /// and nothing new starts. Runs in flight go on; the next start queries their state.
    pub async fn shutdown(&self) {
        self.shared.stopped.cancel();
        self.shared.tasks.wait().await;
    }

    pub(crate) fn seal(&self) -> &SealKey {
        &self.shared.preparation.seal
    }

    pub(crate) fn store(&self) -> &Store {
        &self.shared.store
    }

    /// True if a shutdown was requested, or the engine has ended by itself.
    pub(crate) fn is_stopping(&self) -> bool {
        self.shared.stopped.is_cancelled()
    }

    pub(crate) async fn send_command(&self, command: EngineCommand) -> Option<()> {
        tokio::select! {
            sent = self.shared.commands.send(command) => sent.ok(),
            () = self.shared.stopped.cancelled() => None,
        }
    }
}

/// `told`: a shutdown was requested.
fn find_lost_reason(
    ended: Result<Option<StoreError>, JoinError>,
    told: bool,
) -> Option<EngineLost> {
    match ended {
        Ok(Some(error)) => Some(EngineLost::Store(error)),
        Ok(None) if told => None,
        Ok(None) => Some(EngineLost::Fabric),
        Err(error) if error.is_panic() => Some(EngineLost::Broken(error.to_string())),
        // The async runtime is shutting down.
        Err(_) => None,
    }
}

impl Drop for JobsHandleState {
    fn drop(&mut self) {
        // A handle that was dropped without shutdown: the tasks end by themselves soon.
        self.stopped.cancel();
    }
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs")
            .field("config", &self.shared.config)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_engine_that_ends_untold_is_lost_whatever_the_reason() {
        assert!(
            find_lost_reason(Ok(None), true).is_none(),
            "as it was told to"
        );
        assert!(matches!(
            find_lost_reason(Ok(None), false),
            Some(EngineLost::Fabric)
        ));
        let store = find_lost_reason(Ok(Some(StoreError::Closed)), false);
        assert!(matches!(store, Some(EngineLost::Store(StoreError::Closed))));
        let panicked = tokio::spawn(async { panic!("index out of bounds") }).await;
        let Some(EngineLost::Broken(words)) = find_lost_reason(panicked, false) else {
            panic!("a broken engine is lost");
        };
        assert!(words.contains("index out of bounds"), "{words}");
    }
}
