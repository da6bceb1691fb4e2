//! The task that works through the queue: [`Actor`].
//!
//! The rules that must hold: a deployment is written down before anybody is told of it, and its end before
//! anybody is told of that; what was not over when the server went down goes on after its next start.

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

/// Deployments that were written down.
#[derive(Debug, Default)]
pub struct SubmittedDeployments {
    /// Environments and numbers, in the order in which they were asked for.
    pub deployments: Vec<(EnvironmentName, i64)>,
    /// Each tells its end.
    pub ends: Vec<oneshot::Receiver<Deployment>>,
}

/// What the service is asked for.
pub(super) enum Message {
    /// Work, and who waits for the numbers.
    Submit {
        wanted: Vec<(EnvironmentName, DeploymentAction)>,
        by: DeploymentRequester,
        reply: oneshot::Sender<Result<SubmittedDeployments, SubmitError>>,
    },
    /// Room on the disk.
    Collect {
        dry_run: bool,
        reply: oneshot::Sender<Result<CollectedGarbage, SubmitError>>,
    },
}

pub(super) struct Actor {
    tools: Tools,
    queue: DeploymentQueue,
    /// A look at the sources, and when it began: good for whatever was asked for before.
    round: Option<(Arc<ResolveRound>, Instant)>,
    /// When each environment was asked for last.
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

    /// Works until it is stopped, and then ends what it can.
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
                // Whoever asked may be gone; what is written down is done all the same.
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

    /// Begins whatever has its turn. Room is made while nothing is built: what that is made of would look as if
    /// nobody needed it.
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

    /// A look at the settings and the sources that is not older than the wish.
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
        // Panics are caught within, and nothing aborts it.
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
        // Should it fail, the deployment is done once more after the next start, and finds all done.
        if let Err(error) = self.tools.store.end_code_deploys(&work.ids, &end).await {
            tracing::error!(%error, "cannot write down how a deployment ended");
        }
    }
}

/// Does the work, and tells those who have to know of a new version.
async fn perform_and_tell(tools: &Tools, round: &Look, work: &Work) -> Performed {
    let mut performed = Box::pin(perform(tools, round, work)).await;
    if performed.has_switched(work) {
        tell(tools, work, &mut performed).await;
    }
    // What was held back for it goes on.
    performed.pauses.clear();
    Box::pin(observed(tools, work, &mut performed)).await;
    performed
}

/// Tells those outside, at once: each waits for answers.
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
    // Nothing here waits for followers.
    performed.pauses.clear();
    if let (Some(sync), Some(announced)) = (&tools.others.file_sync, &performed.announced) {
        performed.outcome.late = sync.settle(&work.environment, announced).await;
    }
}
