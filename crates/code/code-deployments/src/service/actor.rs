//! The task that works through the queue: [`Actor`].
//!
//! Invariants: a deployment is stored before any program is notified of it, and its end is stored before its
//! requester is notified of that; a deployment that was unfinished when the server stopped continues after the
//! next start.

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

use super::error::SubmitError;
use super::observer::FinishedDeployment;
use super::perform::{Look, Performed, Tools, perform};
use super::queue::{DeploymentQueue, Work};
use super::record::{Deployment, DeploymentAction, DeploymentRequester, State};
use super::room::Room;
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
pub(super) enum Message {
    /// Deployments to queue, and the receiver of their numbers.
    Submit {
        wanted: Vec<(EnvironmentName, DeploymentAction)>,
        by: DeploymentRequester,
        reply: oneshot::Sender<Result<SubmittedDeployments, SubmitError>>,
    },
    /// A garbage collection.
    Collect {
        dry_run: bool,
        reply: oneshot::Sender<Result<CollectedGarbage, SubmitError>>,
    },
}

pub(super) struct Actor {
    tools: Tools,
    queue: DeploymentQueue,
    /// A resolve round and its start time: it is recent enough for all earlier requests.
    round: Option<(Arc<ResolveRound>, Instant)>,
    /// Time of the last request for each environment.
    asked: HashMap<EnvironmentName, Instant>,
    waiting: HashMap<i64, oneshot::Sender<Deployment>>,
    working: JoinSet<Done>,
    room: Room,
}

struct Done {
    work: Work,
    performed: Performed,
}

impl Actor {
    pub(super) fn new(tools: Tools, open: Vec<CodeDeployRow>, room: Room) -> Self {
        let queue = DeploymentQueue::new(tools.deployer.at_once(), DEPLOYS_WAITING);
        let mut actor = Self {
            tools,
            queue,
            round: None,
            asked: HashMap::new(),
            waiting: HashMap::new(),
            working: JoinSet::new(),
            room,
        };
        for row in open {
            match (row.environment.parse(), DeploymentAction::of(&row)) {
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
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Message>, stop: CancellationToken) {
        loop {
            self.begin().await;
            tokio::select! {
                Some(ended) = self.room.ended() => self.room.end(ended, &self.tools.deployer),
                () = stop.cancelled() => break,
                message = inbox.recv() => match message {
                    Some(message) => Box::pin(self.take(message)).await,
                    None => break,
                },
                Some(done) = self.working.join_next() => self.end(done).await,
            }
        }
        self.room.shutdown().await;
        let drain = Box::pin(async {
            while let Some(done) = self.working.join_next().await {
                self.end(done).await;
            }
        });
        if tokio::time::timeout(DRAIN, drain).await.is_err() {
            tracing::warn!("deployments are cut off; they go on after the next start");
        }
    }

    async fn take(&mut self, message: Message) {
        match message {
            Message::Submit { wanted, by, reply } => {
                let submitted = self.submit(&wanted, &by).await;
                // The requester may be gone; stored deployments are performed anyway.
                drop(reply.send(submitted));
            }
            Message::Collect { dry_run, reply } => self.room.ask(dry_run, reply),
        }
    }

    async fn submit(
        &mut self,
        wanted: &[(EnvironmentName, DeploymentAction)],
        by: &DeploymentRequester,
    ) -> Result<SubmittedDeployments, SubmitError> {
        if self.queue.has_room(wanted.len()).is_err() {
            return Err(SubmitError::Full);
        }
        let now = now_ms();
        let rows: Vec<_> = wanted
            .iter()
            .map(|(environment, action)| action.row(environment, by, now))
            .collect();
        let ids = self.tools.store.insert_code_deploys(&rows).await?;
        let mut submitted = SubmittedDeployments::default();
        for ((environment, action), id) in wanted.iter().zip(ids) {
            self.queue.add(environment, action, id);
            self.asked.insert(environment.clone(), Instant::now());
            let (ended, end) = oneshot::channel();
            self.waiting.insert(id, ended);
            submitted.deployments.push((environment.clone(), id));
            submitted.ends.push(end);
        }
        Ok(submitted)
    }

    /// Begins all work whose turn it is. Garbage collection runs only while nothing is built: contents of a version
    /// in progress would look unused.
    async fn begin(&mut self) {
        loop {
            if self.room.is_running() {
                if self.queue.is_waiting() {
                    self.room.give_way();
                }
                return;
            }
            if !self.room.is_asked() {
                self.deploy().await;
            }
            let is_turn = self.room.is_asked() || self.room.is_wanted() && !self.queue.is_waiting();
            if !is_turn || !self.working.is_empty() {
                return;
            }
            let queued = self.queue.named();
            self.room.begin(&self.tools, queued);
        }
    }

    async fn deploy(&mut self) {
        while let Some(work) = self.queue.next() {
            let entered = self
                .tools
                .store
                .enter_code_deploys(&work.ids, &State::Deploying.to_string(), Some(now_ms()))
                .await;
            if let Err(error) = entered {
                tracing::warn!(%error, "cannot write down that a deployment begins");
            }
            let round = self.round(&work.environment).await;
            let tools = self.tools.clone();
            self.working.spawn(async move {
                let performing =
                    AssertUnwindSafe(Box::pin(perform_and_tell(&tools, &round, &work)));
                let performed = performing.catch_unwind().await;
                Done {
                    performed: performed.unwrap_or_else(|_| Performed::broken()),
                    work,
                }
            });
        }
    }

    /// A resolve round over the settings and sources that is not older than the request.
    async fn round(&mut self, environment: &EnvironmentName) -> Look {
        let asked = self.asked.remove(environment);
        if let (Some((round, began)), Some(asked)) = (&self.round, asked)
            && *began > asked
        {
            return Ok(Arc::clone(round));
        }
        self.round = None;
        let began = Instant::now();
        self.tools.deployer = self.tools.current.settled().await?;
        self.queue.set_places(self.tools.deployer.at_once());
        let round = Arc::new(self.tools.deployer.round());
        self.round = Some((Arc::clone(&round), began));
        Ok(round)
    }

    async fn end(&mut self, done: Result<Done, tokio::task::JoinError>) {
        // Panics are caught in the task, and nothing aborts it.
        let Ok(Done { work, performed }) = done else {
            return;
        };
        self.queue.done(&work.environment);
        if performed.has_switched(&work) {
            self.room.want();
        }
        self.write_end(&work, &performed).await;
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

    async fn write_end(&self, work: &Work, performed: &Performed) {
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
        // If this fails, the deployment is repeated after the next start, and finds nothing left to do.
        if let Err(error) = self.tools.store.end_code_deploys(&work.ids, &end).await {
            tracing::error!(%error, "cannot write down how a deployment ended");
        }
    }
}

/// Performs the work, and notifies the programs that have to know of a new version.
async fn perform_and_tell(tools: &Tools, round: &Look, work: &Work) -> Performed {
    let mut performed = Box::pin(perform(tools, round, work)).await;
    if performed.has_switched(work) {
        tell(tools, work, &mut performed).await;
    }
    // Paused compiles continue.
    performed.pauses.clear();
    Box::pin(observed(tools, work, &mut performed)).await;
    performed
}

/// Notifies all observers concurrently, since each waits for responses.
async fn observed(tools: &Tools, work: &Work, performed: &mut Performed) {
    let observers = &tools.others.observers;
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
    let deployment = performed.deployment(row.into());
    let over = FinishedDeployment {
        is_dry: deployment.dry_run,
        deploy: deployment.shown(performed.outcome.late.clone()),
        made_of: performed.made_of.clone(),
    };
    let told = future::join_all(observers.iter().map(|it| it.over(&over))).await;
    performed.outcome.notes.extend(told.into_iter().flatten());
}

async fn tell(tools: &Tools, work: &Work, performed: &mut Performed) {
    let syncing = State::Syncing.to_string();
    if let Err(error) = tools
        .store
        .enter_code_deploys(&work.ids, &syncing, None)
        .await
    {
        tracing::warn!(%error, "cannot write down that a version is live");
    }
    for after in &tools.others.after {
        let told = after.switched(&work.environment).await;
        performed.outcome.notes.extend(told.err());
    }
    // Compiles on this machine do not wait for followers.
    performed.pauses.clear();
    if let (Some(sync), Some(announced)) = (&tools.others.file_sync, &performed.announced) {
        performed.outcome.late = sync.settle(&work.environment, announced).await;
    }
}
