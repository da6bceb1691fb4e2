//! One piece of work, from its beginning to its end: [`perform`].
//!
//! Invariant: after any failure the version that was live still is, and the outcome contains the reason.

mod parts;
mod restored;

use std::sync::Arc;

use api_types::LateFollower;
use environments::EnvironmentName;
use futures_util::future;
use store::{CodePinRow, Store, StoreError};

use self::parts::{control, modules};
use self::restored::{repair, switch_to_whole};
use super::current::Current;
use super::holds::{Blockers, Who};
use super::locks::{EnvironmentHold, Locks};
use super::queue::Work;
use super::record::{Deployment, DeploymentAction, DeploymentFault, Outcome, State, cut};
use store::now_ms;

use super::kinds;
use super::listeners::DeploymentListeners;
use super::observer::DeployedCommit;
use crate::defaults::{ERROR_BYTES, SWITCH_WAIT};
use crate::deployer::{BuiltVersion, Deployer};
use crate::error::{DeployError, SourcesError};
use code_settings::R10kFileError;
use code_sources::resolve::ResolveRound;
use code_sources::source::FoundEnvironment;
use code_store::code_cache::CompilePause;
use code_store::diff::ModuleChanges;
use code_store::version::{VersionError, VersionSignature, VersionSwitch};
use code_store::write_probe::ProbeScope;
use file_sync::AnnouncedSwitch;

/// Outcome of a piece of work.
#[derive(Debug, Default)]
pub(super) struct Performed {
    pub(super) signature: Option<VersionSignature>,
    pub(super) before: Option<VersionSignature>,
    /// True if damaged files of the version were replaced.
    pub(super) is_healed: bool,
    /// The switch that was announced to followers.
    pub(super) announced: Option<AnnouncedSwitch>,
    pub(super) outcome: Outcome,
    /// The deployed commit; `None` if the work ended before it was known.
    pub(super) made_of: Option<DeployedCommit>,
    /// Compiles that are paused until all programs are notified.
    pub(super) pauses: Vec<Box<dyn CompilePause>>,
}

/// Reason that a piece of work failed.
#[derive(Debug, thiserror::Error)]
enum PerformError {
    #[error(transparent)]
    Settings(#[from] Arc<R10kFileError>),
    #[error(transparent)]
    Sources(#[from] SourcesError),
    #[error("no branch of any source is the environment {0}")]
    NoBranch(EnvironmentName),
    #[error("{environment} has no module {module}; it has {}", listed(.there))]
    NoModule {
        environment: EnvironmentName,
        module: String,
        there: Vec<String>,
    },
    #[error(transparent)]
    Deploy(#[from] DeployError),
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error(
        "{} stays with the version {} since {} pinned it{}; unpin it first",
        .0.environment, .0.signature, .0.owner, because(&.0.reason)
    )]
    Pinned(CodePinRow),
    #[error(
        "{environment} was not switched within {} s, since it has to stay for {}; the \
         version is ready, so deploy again or `tutti code rollback {environment} {signature}`",
        SWITCH_WAIT.as_secs(), .blockers
    )]
    Held {
        environment: EnvironmentName,
        signature: VersionSignature,
        blockers: Blockers,
    },
    #[error("the server's database")]
    Store(#[from] StoreError),
}

/// The shared services that a piece of work uses.
#[derive(Clone, Debug)]
pub(super) struct Tools {
    /// The deployer for one state of the settings.
    pub(super) deployer: Deployer,
    pub(super) current: Arc<Current>,
    pub(super) store: Store,
    pub(super) locks: Locks,
    pub(super) others: DeploymentListeners,
}

/// A resolve round over the sources, or the error of the settings that name them.
pub(super) type Look = Result<Arc<ResolveRound>, Arc<R10kFileError>>;

/// Performs a piece of work.
pub(super) async fn perform(tools: &Tools, round: &Look, work: &Work) -> Performed {
    let mut performed = Performed {
        before: tools.deployer.versions().live(&work.environment),
        ..Performed::default()
    };
    let done = match tools
        .deployer
        .probe_writing(&work.environment, scope_of(&work.action))
        .await
    {
        Ok(()) => Box::pin(act(tools, round, work, &mut performed)).await,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = done {
        let msg = error_causes::chain(&error);
        tracing::warn!(environment = %work.environment, %msg, "not deployed");
        performed.outcome.error = Some(DeploymentFault {
            kind: error.kind().to_owned(),
            msg: cut(&msg, ERROR_BYTES).to_owned(),
        });
    }
    performed
}

/// Directories that an action writes to.
fn scope_of(action: &DeploymentAction) -> ProbeScope {
    match action {
        DeploymentAction::Remove | DeploymentAction::Rollback { .. } => ProbeScope::Switch,
        _ => ProbeScope::BuildAndSwitch,
    }
}

async fn act(
    tools: &Tools,
    round: &Look,
    work: &Work,
    performed: &mut Performed,
) -> Result<(), PerformError> {
    match &work.action {
        DeploymentAction::Deploy { .. } => deploy(tools, round, work, performed).await,
        DeploymentAction::Modules { names, .. } => {
            modules(tools, round, work, names, performed).await
        }
        DeploymentAction::Control { .. } => control(tools, round, work, performed).await,
        DeploymentAction::Remove => remove(tools, round, work, performed).await,
        DeploymentAction::Rollback { signature } => {
            switch_to_whole(tools, work, signature, performed).await
        }
        DeploymentAction::Promote { from, signature } => {
            promote(tools, work, from, signature, performed).await
        }
        DeploymentAction::Publish => publish(tools, work, performed).await,
        DeploymentAction::Repair { signature } => repair(tools, work, signature, performed).await,
    }
}

async fn deploy(
    tools: &Tools,
    round: &Look,
    work: &Work,
    performed: &mut Performed,
) -> Result<(), PerformError> {
    let round = round.as_ref().map_err(Arc::clone)?;
    let found = find(tools, round, &work.environment).await?;
    let found = found.ok_or_else(|| PerformError::NoBranch(work.environment.clone()))?;
    let build = tools.deployer.build(&found, round);
    let built = Box::pin(building(tools, work, &found, build, performed)).await?;
    finish(tools, work, built, performed).await
}

/// Makes the built version live, unless this is a dry run.
async fn finish(
    tools: &Tools,
    work: &Work,
    built: BuiltVersion,
    performed: &mut Performed,
) -> Result<(), PerformError> {
    performed.outcome.notes = built
        .given_way
        .iter()
        .map(|path| {
            format!("{path} of the control repository is left out: a module of the Puppetfile stands there")
        })
        .chain(built.notes.iter().cloned())
        .collect();
    let note = tools.deployer.note_of_replaced_functions(&built).await?;
    performed.outcome.notes.extend(note);
    performed.is_healed = !built.healed.is_empty();
    match work.action.is_dry() {
        true => {
            tell(tools, work, &built.signature, performed);
            // The switch would be refused then.
            if performed.before.as_ref() != Some(&built.signature) {
                unpinned(tools, &work.environment).await?;
            }
        }
        false => switch(tools, work, &built.signature, performed).await?,
    }
    Ok(())
}

/// Builds the version, and meanwhile notifies observers that the deployment begins.
async fn building(
    tools: &Tools,
    work: &Work,
    found: &FoundEnvironment,
    build: impl Future<Output = Result<BuiltVersion, DeployError>>,
    performed: &mut Performed,
) -> Result<BuiltVersion, PerformError> {
    let made_of = made_of(found);
    performed.outcome.control_commit = made_of.as_ref().map(|it| it.commit.clone());
    performed.made_of.clone_from(&made_of);
    let begun = async {
        if let (Some(made_of), false) = (&made_of, work.action.is_dry()) {
            begun(tools, work, made_of).await;
        }
    };
    let (built, ()) = futures_util::join!(build, begun);
    Ok(built?)
}

/// `None` if the environment is not a branch of its source, so that no forge shows it.
fn made_of(found: &FoundEnvironment) -> Option<DeployedCommit> {
    Some(DeployedCommit {
        source: found.source.name.clone(),
        remote: found.source.remote.clone(),
        commit: found.commit()?.to_string(),
    })
}

async fn begun(tools: &Tools, work: &Work, made_of: &DeployedCommit) {
    let observers = tools.others.observers.iter();
    future::join_all(observers.map(|it| it.begun(&work.environment, made_of))).await;
}

/// The environment, if a source has it. Lists all sources, since two of them may define the same name.
async fn find(
    tools: &Tools,
    round: &ResolveRound,
    environment: &EnvironmentName,
) -> Result<Option<FoundEnvironment>, PerformError> {
    let mut environments = tools.deployer.environments(round).await?;
    Ok(environments.found.remove(environment))
}

/// Fills in the parts of a version and its differences from the live version.
fn tell(tools: &Tools, work: &Work, signature: &VersionSignature, performed: &mut Performed) {
    let versions = tools.deployer.versions();
    performed.signature = Some(signature.clone());
    let Some(lock) = versions.lock(&work.environment, signature) else {
        return;
    };
    let before = performed.before.as_ref();
    let before = before.and_then(|before| versions.lock(&work.environment, before));
    performed.outcome.control_commit = lock.control.at().map(str::to_owned);
    performed.outcome.modules = lock.modules.len();
    performed.outcome.changes = Some(ModuleChanges::between(before.as_ref(), &lock));
}

async fn switch(
    tools: &Tools,
    work: &Work,
    signature: &VersionSignature,
    performed: &mut Performed,
) -> Result<(), PerformError> {
    tell(tools, work, signature, performed);
    if performed.before.as_ref() == Some(signature) {
        if performed.is_healed {
            // Other programs flush their caches of parsed code, as at any switch.
            switch_here(tools, work, signature, performed).await?;
        }
        return Ok(());
    }
    if let Some(sync) = &tools.others.file_sync {
        let unready = sync.offer(&work.environment, signature).await;
        let note = |it: LateFollower| {
            let LateFollower { name, why } = it;
            format!("{name} was not ready to switch with the others: {why}")
        };
        performed
            .outcome
            .notes
            .extend(unready.into_iter().map(note));
    }
    let switched = switch_here(tools, work, signature, performed).await;
    if let (Some(sync), Err(_)) = (&tools.others.file_sync, &switched) {
        sync.withdraw(&work.environment);
    }
    let switched = switched?;
    announce(tools, work, Some(signature), performed).await;
    performed.before = switched.before;
    performed.outcome.notes.extend(
        switched
            .moved_aside
            .map(|path| format!("what stood there before is in {}", path.display())),
    );
    Ok(())
}

/// Waits for plans and jobs that hold the environment, and switches.
async fn switch_here(
    tools: &Tools,
    work: &Work,
    signature: &VersionSignature,
    performed: &mut Performed,
) -> Result<VersionSwitch, PerformError> {
    let _hold = held(tools, work, signature).await?;
    // Checked only now, since the environment may have been pinned while plans were running.
    unpinned(tools, &work.environment).await?;
    pause(tools, performed).await;
    Ok(tools.deployer.switch(&work.environment, signature).await?)
}

/// Announces the switch to followers. If it cannot be stored, it is announced after the next start.
async fn announce(
    tools: &Tools,
    work: &Work,
    signature: Option<&VersionSignature>,
    performed: &mut Performed,
) {
    let Some(sync) = &tools.others.file_sync else {
        return;
    };
    match sync.announce(&work.environment, signature).await {
        Ok(announced) => {
            performed.outcome.generation = Some(announced.generation);
            performed.outcome.code_commit = Some(sync.latest().commit);
            performed.announced = Some(announced);
        }
        Err(error) => {
            let note = format!("followers cannot be told: {}", error_causes::chain(&error));
            performed.outcome.notes.push(note);
        }
    }
}

async fn publish(
    tools: &Tools,
    work: &Work,
    performed: &mut Performed,
) -> Result<(), PerformError> {
    let (signature, commit) = tools.deployer.publish(&work.environment).await?;
    switch_to_whole(tools, work, &signature, performed).await?;
    if commit.is_some() {
        performed.outcome.control_commit = commit;
    }
    Ok(())
}

async fn promote(
    tools: &Tools,
    work: &Work,
    from: &EnvironmentName,
    signature: &VersionSignature,
    performed: &mut Performed,
) -> Result<(), PerformError> {
    let (copied, to) = (signature.clone(), work.environment.clone());
    tools.deployer.copy(from, &copied, &to).await?;
    switch_to_whole(tools, work, signature, performed).await
}

async fn remove(
    tools: &Tools,
    round: &Look,
    work: &Work,
    performed: &mut Performed,
) -> Result<(), PerformError> {
    let round = round.as_ref().map_err(Arc::clone)?;
    if let Some(found) = find(tools, round, &work.environment).await? {
        let note = format!(
            "it stays: {} has the branch {}",
            found.source.name, found.branch
        );
        performed.outcome.notes.push(note);
        performed.signature.clone_from(&performed.before);
        return Ok(());
    }
    let gone = performed.before.clone();
    let _hold = match &gone {
        Some(signature) => Some(held(tools, work, signature).await?),
        None => None,
    };
    unpinned(tools, &work.environment).await?;
    pause(tools, performed).await;
    if tools.deployer.remove(&work.environment).await? {
        announce(tools, work, None, performed).await;
    }
    Ok(())
}

/// Pauses compiles, which must not overlap with the switch.
async fn pause(tools: &Tools, performed: &mut Performed) {
    for after in &tools.others.after {
        let paused = after.switching().await;
        performed.pauses.extend(paused.pause);
        performed.outcome.notes.extend(paused.note);
    }
}

/// Waits until no plan or job holds the environment.
async fn held(
    tools: &Tools,
    work: &Work,
    signature: &VersionSignature,
) -> Result<EnvironmentHold, PerformError> {
    let who = Who::Deployment(work.ids.last().copied().unwrap_or_default());
    let hold = tools.locks.take(&work.environment, who, SWITCH_WAIT).await;
    hold.map_err(|blockers| PerformError::Held {
        environment: work.environment.clone(),
        signature: signature.clone(),
        blockers,
    })
}

async fn unpinned(tools: &Tools, environment: &EnvironmentName) -> Result<(), PerformError> {
    match tools.store.code_pin(environment.as_str()).await? {
        Some(pin) => Err(PerformError::Pinned(pin)),
        None => Ok(()),
    }
}

fn listed(modules: &[String]) -> String {
    match modules.is_empty() {
        true => "none".to_owned(),
        false => modules.join(", "),
    }
}

fn because(reason: &str) -> String {
    match reason.is_empty() {
        true => String::new(),
        false => format!(" ({reason})"),
    }
}

// === impl Performed ===

impl Performed {
    /// The outcome of work that failed because of a bug.
    pub(super) fn broken() -> Self {
        let mut performed = Self::default();
        performed.outcome.error = Some(DeploymentFault {
            kind: kinds::DEPLOY_FAILURE.to_owned(),
            msg: DeployError::Broken.to_string(),
        });
        performed
    }

    /// True if another version is live than before, or none, or the same with other bytes.
    pub(super) fn has_switched(&self, work: &Work) -> bool {
        let is_other = self.signature != self.before || self.is_healed;
        self.outcome.error.is_none() && !work.action.is_dry() && is_other
    }

    /// The record of the deployment as it will be stored.
    pub(super) fn deployment(&self, begun: Deployment) -> Deployment {
        Deployment {
            state: self.state(),
            finished_ms: Some(now_ms()),
            served_by: Some(begun.id),
            signature: self.signature.as_ref().map(ToString::to_string),
            before: self.before.as_ref().map(ToString::to_string),
            outcome: Some(self.outcome.clone()),
            ..begun
        }
    }

    pub(super) fn state(&self) -> State {
        match self.outcome.error {
            None => State::Synced,
            Some(_) => State::Failed,
        }
    }
}

// === impl PerformError ===

impl PerformError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Pinned(_) => kinds::PINNED,
            Self::Held { .. } => kinds::HELD,
            Self::Deploy(DeployError::Unwritable(_)) => kinds::UNWRITABLE,
            _ => kinds::DEPLOY_FAILURE,
        }
    }
}
