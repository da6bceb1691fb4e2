//! The task that works through the queue: [`DeploymentActor`].
//!
//! Invariants: a deployment is stored before any program is notified of it, and its end is stored
//! before its requester is notified of that; a deployment that was unfinished when the server
//! stopped continues after the next start.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use environments::EnvironmentName;
use futures_util::{FutureExt as _, future};
use store::{CodeDeployEnd, CodeDeployRow, now_ms};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::deployment_record::{
    Deployment, DeploymentAction, DeploymentRequester, DeploymentState,
};
use super::error::DeploymentSubmitError;
use super::garbage_collection::GarbageCollector;
use super::observer::FinishedDeployment;
use super::perform::{DeploymentTools, ResolveRoundResult, WorkOutcome, perform};
use super::queue::{DeploymentQueue, DeploymentWork};
use crate::defaults::{DEPLOYS_WAITING, DRAIN};
use code_sources::resolve::ResolveRound;
use code_store::gc::CollectedGarbage;

/// Deployments that were accepted and stored.
#[derive(Debug, Default)]
pub struct SubmittedDeployments {
    /// Environments and numbers of the deployments, in the order of the request.
    pub deployments: Vec<(EnvironmentName, i64)>,
    /// Receivers of the finished deployments, one for each.
    pub ends: Vec<oneshot::Receiver<Deployment>>,
}

/// Requests to the service.
pub(super) enum ServiceRequest {
    /// Deployments to queue, and the receiver of their numbers.
    Submit {
        wanted: Vec<(EnvironmentName, DeploymentAction)>,
        by: DeploymentRequester,
        reply: oneshot::Sender<Result<SubmittedDeployments, DeploymentSubmitError>>,
    },
    /// A garbage collection.
    Collect {
        dry_run: bool,
        reply: oneshot::Sender<Result<CollectedGarbage, DeploymentSubmitError>>,
    },
}

pub(super) struct DeploymentActor {
    tools: DeploymentTools,
    queue: DeploymentQueue,
    /// A resolve round and its start time: it is recent enough for all earlier requests.
    round: Option<(Arc<ResolveRound>, Instant)>,
    /// Time of the last request for each environment.
    last_requests: HashMap<EnvironmentName, Instant>,
    waiting: HashMap<i64, oneshot::Sender<Deployment>>,
    working: JoinSet<FinishedWork>,
    garbage_collector: GarbageCollector,
}

struct FinishedWork {
    work: DeploymentWork,
    performed: WorkOutcome,
}

impl DeploymentActor {
    pub(super) fn new(
        tools: DeploymentTools,
        open: Vec<CodeDeployRow>,
        room: GarbageCollector,
    ) -> Self {
        let queue = DeploymentQueue::new(tools.deployer.concurrency(), DEPLOYS_WAITING);
        let mut actor = Self {
            tools,
            queue,
            round: None,
            last_requests: HashMap::new(),
            waiting: HashMap::new(),
            working: JoinSet::new(),
            garbage_collector: room,
        };
        for row in open {
            match (row.environment.parse(), DeploymentAction::from_row(&row)) {
                (Ok(environment), Some(action)) => {
                    actor.queue.add(&environment, &action, row.id);
                }
                _ => tracing::error!(
                    id = row.id,
                    "a deployment that makes no sense is left alone"
                ),
            }
        }
        actor
    }

    /// Runs until `stop` is cancelled, and then finishes as much as possible.
    pub(super) async fn run(
        mut self,
        mut inbox: mpsc::Receiver<ServiceRequest>,
        stop: CancellationToken,
    ) {
        loop {
            self.begin_work().await;
            tokio::select! {
                Some(ended) = self.garbage_collector.next_finished() => self.garbage_collector.finish(ended, &self.tools.deployer),
                () = stop.cancelled() => break,
                message = inbox.recv() => match message {
                    Some(message) => Box::pin(self.handle_request(message)).await,
                    None => break,
                },
                Some(done) = self.working.join_next() => self.finish_work(done).await,
            }
        }
        self.garbage_collector.shutdown().await;
        let drain = Box::pin(async {
            while let Some(done) = self.working.join_next().await {
                self.finish_work(done).await;
            }
        });
        if tokio::time::timeout(DRAIN, drain).await.is_err() {
            tracing::warn!("deployments are cut off; they go on after the next start");
        }
    }

    async fn handle_request(&mut self, message: ServiceRequest) {
        match message {
            ServiceRequest::Submit { wanted, by, reply } => {
                let submitted = self.submit(&wanted, &by).await;
                // The requester may be gone; stored deployments are performed anyway.
                drop(reply.send(submitted));
            }
            ServiceRequest::Collect { dry_run, reply } => {
                self.garbage_collector.request(dry_run, reply)
            }
        }
    }

    async fn submit(
        &mut self,
        wanted: &[(EnvironmentName, DeploymentAction)],
        by: &DeploymentRequester,
    ) -> Result<SubmittedDeployments, DeploymentSubmitError> {
        if self.queue.check_capacity(wanted.len()).is_err() {
            return Err(DeploymentSubmitError::Full);
        }
        let now = now_ms();
        let rows: Vec<_> = wanted
            .iter()
            .map(|(environment, action)| action.to_row(environment, by, now))
            .collect();
        let ids = self.tools.store.insert_code_deploys(&rows).await?;
        let mut submitted = SubmittedDeployments::default();
        for ((environment, action), id) in wanted.iter().zip(ids) {
            self.queue.add(environment, action, id);
            self.last_requests
                .insert(environment.clone(), Instant::now());
            let (ended, end) = oneshot::channel();
            self.waiting.insert(id, ended);
            submitted.deployments.push((environment.clone(), id));
            submitted.ends.push(end);
        }
        Ok(submitted)
    }

    /// Begins all work whose turn it is. Garbage collection runs only while nothing is built:
    /// contents of a version in progress would look unused.
    async fn begin_work(&mut self) {
        loop {
            if self.garbage_collector.is_running() {
                if self.queue.is_waiting() {
                    self.garbage_collector.interrupt_automatic();
                }
                return;
            }
            if !self.garbage_collector.has_requests() {
                self.begin_deployments().await;
            }
            let is_turn = self.garbage_collector.has_requests()
                || self.garbage_collector.is_due() && !self.queue.is_waiting();
            if !is_turn || !self.working.is_empty() {
                return;
            }
            let queued = self.queue.queued_versions();
            self.garbage_collector.begin(&self.tools, queued);
        }
    }

    async fn begin_deployments(&mut self) {
        while let Some(work) = self.queue.next() {
            let entered = self
                .tools
                .store
                .enter_code_deploys(
                    &work.ids,
                    &DeploymentState::Deploying.to_string(),
                    Some(now_ms()),
                )
                .await;
            if let Err(error) = entered {
                tracing::warn!(%error, "cannot write down that a deployment begins");
            }
            let round = self.recent_round(&work.environment).await;
            let tools = self.tools.clone();
            self.working.spawn(async move {
                let performing =
                    AssertUnwindSafe(Box::pin(perform_and_notify(&tools, &round, &work)));
                let performed = performing.catch_unwind().await;
                FinishedWork {
                    performed: performed.unwrap_or_else(|_| WorkOutcome::internal_error()),
                    work,
                }
            });
        }
    }

    /// A resolve round over the settings and sources that is not older than the request.
    async fn recent_round(&mut self, environment: &EnvironmentName) -> ResolveRoundResult {
        let asked = self.last_requests.remove(environment);
        if let (Some((round, began)), Some(asked)) = (&self.round, asked)
            && *began > asked
        {
            return Ok(Arc::clone(round));
        }
        self.round = None;
        let began = Instant::now();
        self.tools.deployer = self.tools.current.reload_settled().await?;
        self.queue
            .set_concurrency(self.tools.deployer.concurrency());
        let round = Arc::new(self.tools.deployer.start_round());
        self.round = Some((Arc::clone(&round), began));
        Ok(round)
    }

    async fn finish_work(&mut self, done: Result<FinishedWork, tokio::task::JoinError>) {
        // Panics are caught in the task, and nothing aborts it.
        let Ok(FinishedWork { work, performed }) = done else {
            return;
        };
        self.queue.finish(&work.environment);
        if performed.has_switched(&work) {
            self.garbage_collector.request_automatic();
        }
        self.store_results(&work, &performed).await;
        for id in &work.ids {
            let Some(waiting) = self.waiting.remove(id) else {
                continue;
            };
            if let Ok(Some(row)) = self.tools.store.code_deploy(*id).await {
                drop(waiting.send(row.into()));
            }
        }
        if self.queue.is_idle() {
            self.round = None;
        }
    }

    async fn store_results(&self, work: &DeploymentWork, performed: &WorkOutcome) {
        let Some(last) = work.ids.last() else {
            return;
        };
        let outcome = serde_json::to_string(&performed.outcome).unwrap_or_default();
        let end = CodeDeployEnd {
            state: performed.state().to_string(),
            finished_ms: now_ms(),
            served_by: *last,
            signature: performed.signature.as_ref().map(ToString::to_string),
            before: performed.before.as_ref().map(ToString::to_string),
            outcome,
        };
        // If this fails, the deployment is repeated after the next start, and finds nothing left to
        // do.
        if let Err(error) = self.tools.store.end_code_deploys(&work.ids, &end).await {
            tracing::error!(%error, "cannot write down how a deployment ended");
        }
    }
}

/// Performs the work, and notifies the programs that have to know of a new version.
async fn perform_and_notify(
    tools: &DeploymentTools,
    round: &ResolveRoundResult,
    work: &DeploymentWork,
) -> WorkOutcome {
    let mut performed = Box::pin(perform(tools, round, work)).await;
    if performed.has_switched(work) {
        notify_code_caches(tools, work, &mut performed).await;
    }
    // Paused compiles continue.
    performed.pauses.clear();
    Box::pin(notify_observers(tools, work, &mut performed)).await;
    performed
}

/// Notifies all observers concurrently, since each waits for responses.
async fn notify_observers(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    performed: &mut WorkOutcome,
) {
    let observers = &tools.listeners.observers;
    let (Some(id), false) = (work.ids.last(), observers.is_empty()) else {
        return;
    };
    let row = match tools.store.code_deploy(*id).await {
        Ok(Some(row)) => row,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%error, "cannot read of what others are to be told");
            return;
        }
    };
    let deployment = performed.to_deployment(row.into());
    let over = FinishedDeployment {
        is_dry: deployment.dry_run,
        deploy: deployment.into_code_deploy(performed.outcome.late.clone()),
        deployed_commit: performed.deployed_commit.clone(),
    };
    let told = future::join_all(observers.iter().map(|it| it.deployment_finished(&over))).await;
    performed.outcome.notes.extend(told.into_iter().flatten());
}

async fn notify_code_caches(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    performed: &mut WorkOutcome,
) {
    let syncing = DeploymentState::Syncing.to_string();
    if let Err(error) = tools
        .store
        .enter_code_deploys(&work.ids, &syncing, None)
        .await
    {
        tracing::warn!(%error, "cannot write down that a version is live");
    }
    for after in &tools.listeners.code_caches {
        let told = after.flush_after_switch(&work.environment).await;
        performed.outcome.notes.extend(told.err());
    }
    // Compiles on this machine do not wait for followers.
    performed.pauses.clear();
    if let (Some(sync), Some(announced)) = (&tools.listeners.file_sync, &performed.announced) {
        performed.outcome.late = sync.wait_for_followers(&work.environment, announced).await;
    }
}
