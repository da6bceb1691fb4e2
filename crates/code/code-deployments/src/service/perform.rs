//! One piece of work, from its beginning to its end: [`perform`].
//!
//! Invariant: after any failure the version that was live still is, and the outcome contains the
//! reason.

mod partial;
mod repaired_switch;

use std::sync::Arc;

use api_types::LateFollower;
use environments::EnvironmentName;
use futures_util::future;
use store::{CodePinRow, Store, StoreError};

use self::partial::{deploy_control, deploy_modules};
use self::repaired_switch::{repair, repair_and_switch};
use super::current_deployer::CurrentDeployer;
use super::deployment_record::{
    Deployment, DeploymentAction, DeploymentFault, DeploymentOutcome, DeploymentState, truncate,
};
use super::environment_locks::{EnvironmentHold, EnvironmentLocks};
use super::hold_queue::{HoldBlockers, HoldRequester};
use super::queue::DeploymentWork;
use store::now_ms;

use super::error_kinds;
use super::listeners::DeploymentListeners;
use super::observer::DeployedCommit;
use crate::defaults::{ERROR_BYTES, SWITCH_WAIT};
use crate::deployer::{BuiltVersion, Deployer};
use crate::error::{DeploymentError, SourcesError};
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
pub(super) struct WorkOutcome {
    pub(super) signature: Option<VersionSignature>,
    pub(super) before: Option<VersionSignature>,
    /// True if damaged files of the version were replaced.
    pub(super) is_healed: bool,
    /// The switch that was announced to followers.
    pub(super) announced: Option<AnnouncedSwitch>,
    pub(super) outcome: DeploymentOutcome,
    /// The deployed commit; `None` if the work ended before it was known.
    pub(super) deployed_commit: Option<DeployedCommit>,
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
    #[error("{environment} has no module {module}; it has {}", list_modules(.there))]
    NoModule {
        environment: EnvironmentName,
        module: String,
        there: Vec<String>,
    },
    #[error(transparent)]
    Deploy(#[from] DeploymentError),
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error(
        "{} stays with the version {} since {} pinned it{}; unpin it first",
        .0.environment, .0.signature, .0.owner, format_reason(&.0.reason)
    )]
    Pinned(CodePinRow),
    #[error(
        "{environment} was not switched within {} s, since it has to stay for {}; the \
         version is ready, so deploy again or `tutti code rollback {environment} {signature}`",
        SWITCH_WAIT.as_secs(), .blockers
    )]
    EnvironmentHeld {
        environment: EnvironmentName,
        signature: VersionSignature,
        blockers: HoldBlockers,
    },
    #[error("the server's database")]
    Store(#[from] StoreError),
}

/// The shared services that a piece of work uses.
#[derive(Clone, Debug)]
pub(super) struct DeploymentTools {
    /// The deployer for one state of the settings.
    pub(super) deployer: Deployer,
    pub(super) current: Arc<CurrentDeployer>,
    pub(super) store: Store,
    pub(super) locks: EnvironmentLocks,
    pub(super) listeners: DeploymentListeners,
}

/// A resolve round over the sources, or the error of the settings that name them.
pub(super) type ResolveRoundResult = Result<Arc<ResolveRound>, Arc<R10kFileError>>;

/// Performs a piece of work.
pub(super) async fn perform(
    tools: &DeploymentTools,
    round: &ResolveRoundResult,
    work: &DeploymentWork,
) -> WorkOutcome {
    let mut performed = WorkOutcome {
        before: tools.deployer.versions().live_version(&work.environment),
        ..WorkOutcome::default()
    };
    let done = match tools
        .deployer
        .probe_writing(&work.environment, probe_scope(&work.action))
        .await
    {
        Ok(()) => Box::pin(perform_action(tools, round, work, &mut performed)).await,
        Err(error) => Err(error.into()),
    };
    if let Err(error) = done {
        let msg = error_causes::chain(&error);
        tracing::warn!(environment = %work.environment, %msg, "not deployed");
        performed.outcome.error = Some(DeploymentFault {
            kind: error.kind().to_owned(),
            msg: truncate(&msg, ERROR_BYTES).to_owned(),
        });
    }
    performed
}

/// Directories that an action writes to.
fn probe_scope(action: &DeploymentAction) -> ProbeScope {
    match action {
        DeploymentAction::Remove | DeploymentAction::Rollback { .. } => ProbeScope::Switch,
        _ => ProbeScope::BuildAndSwitch,
    }
}

async fn perform_action(
    tools: &DeploymentTools,
    round: &ResolveRoundResult,
    work: &DeploymentWork,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    match &work.action {
        DeploymentAction::Deploy { .. } => deploy(tools, round, work, performed).await,
        DeploymentAction::Modules { names, .. } => {
            deploy_modules(tools, round, work, names, performed).await
        }
        DeploymentAction::Control { .. } => deploy_control(tools, round, work, performed).await,
        DeploymentAction::Remove => remove(tools, round, work, performed).await,
        DeploymentAction::Rollback { signature } => {
            repair_and_switch(tools, work, signature, performed).await
        }
        DeploymentAction::Promote { from, signature } => {
            promote(tools, work, from, signature, performed).await
        }
        DeploymentAction::Publish => publish(tools, work, performed).await,
        DeploymentAction::Repair { signature } => repair(tools, work, signature, performed).await,
    }
}

async fn deploy(
    tools: &DeploymentTools,
    round: &ResolveRoundResult,
    work: &DeploymentWork,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    let round = round.as_ref().map_err(Arc::clone)?;
    let found = find_environment(tools, round, &work.environment).await?;
    let found = found.ok_or_else(|| PerformError::NoBranch(work.environment.clone()))?;
    let build = tools.deployer.build(&found, round);
    let built = Box::pin(build_and_notify(tools, work, &found, build, performed)).await?;
    switch_unless_dry_run(tools, work, built, performed).await
}

/// Makes the built version live, unless this is a dry run.
async fn switch_unless_dry_run(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    built: BuiltVersion,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    performed.outcome.notes = built
        .omitted_directories
        .iter()
        .map(|path| {
            format!("{path} of the control repository is left out: a module of the Puppetfile stands there")
        })
        .chain(built.notes.iter().cloned())
        .collect();
    let note = tools.deployer.replaced_functions_note(&built).await?;
    performed.outcome.notes.extend(note);
    performed.is_healed = !built.healed.is_empty();
    match work.action.is_dry_run() {
        true => {
            describe_version(tools, work, &built.signature, performed);
            // The switch of a pinned environment would be refused.
            if performed.before.as_ref() != Some(&built.signature) {
                check_unpinned(tools, &work.environment).await?;
            }
        }
        false => switch(tools, work, &built.signature, performed).await?,
    }
    Ok(())
}

/// Builds the version, and meanwhile notifies observers that the deployment begins.
async fn build_and_notify(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    found: &FoundEnvironment,
    build: impl Future<Output = Result<BuiltVersion, DeploymentError>>,
    performed: &mut WorkOutcome,
) -> Result<BuiltVersion, PerformError> {
    let made_of = deployed_commit(found);
    performed.outcome.control_commit = made_of.as_ref().map(|it| it.commit.clone());
    performed.deployed_commit.clone_from(&made_of);
    let begun = async {
        if let (Some(made_of), false) = (&made_of, work.action.is_dry_run()) {
            notify_begun(tools, work, made_of).await;
        }
    };
    let (built, ()) = futures_util::join!(build, begun);
    Ok(built?)
}

/// Returns the deployed commit; `None` if the environment is not a branch of its source, so that no
/// forge shows it.
fn deployed_commit(found: &FoundEnvironment) -> Option<DeployedCommit> {
    Some(DeployedCommit {
        source: found.source.name.clone(),
        remote: found.source.remote.clone(),
        commit: found.commit()?.to_string(),
    })
}

async fn notify_begun(tools: &DeploymentTools, work: &DeploymentWork, made_of: &DeployedCommit) {
    let observers = tools.listeners.observers.iter();
    future::join_all(observers.map(|it| it.deployment_began(&work.environment, made_of))).await;
}

/// The environment, if a source has it. Lists all sources, since two of them may define the same
/// name.
async fn find_environment(
    tools: &DeploymentTools,
    round: &ResolveRound,
    environment: &EnvironmentName,
) -> Result<Option<FoundEnvironment>, PerformError> {
    let mut environments = tools.deployer.list_environments(round).await?;
    Ok(environments.by_name.remove(environment))
}

/// Fills in the parts of a version and its differences from the live version.
fn describe_version(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    signature: &VersionSignature,
    performed: &mut WorkOutcome,
) {
    let versions = tools.deployer.versions();
    performed.signature = Some(signature.clone());
    let Some(lock) = versions.read_lock(&work.environment, signature) else {
        return;
    };
    let before = performed.before.as_ref();
    let before = before.and_then(|before| versions.read_lock(&work.environment, before));
    performed.outcome.control_commit = lock.control.resolved_commit().map(str::to_owned);
    performed.outcome.modules = lock.modules.len();
    performed.outcome.changes = Some(ModuleChanges::between_locks(before.as_ref(), &lock));
}

async fn switch(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    signature: &VersionSignature,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    describe_version(tools, work, signature, performed);
    if performed.before.as_ref() == Some(signature) {
        if performed.is_healed {
            // Other programs flush their caches of parsed code, as at any switch.
            switch_locally(tools, work, signature, performed).await?;
        }
        return Ok(());
    }
    if let Some(sync) = &tools.listeners.file_sync {
        let unready = sync.offer_version(&work.environment, signature).await;
        let note = |it: LateFollower| {
            let LateFollower { name, why } = it;
            format!("{name} was not ready to switch with the others: {why}")
        };
        performed
            .outcome
            .notes
            .extend(unready.into_iter().map(note));
    }
    let switched = switch_locally(tools, work, signature, performed).await;
    if let (Some(sync), Err(_)) = (&tools.listeners.file_sync, &switched) {
        sync.withdraw_offer(&work.environment);
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
async fn switch_locally(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    signature: &VersionSignature,
    performed: &mut WorkOutcome,
) -> Result<VersionSwitch, PerformError> {
    let _hold = acquire_hold(tools, work, signature).await?;
    // Checked only now, since the environment may have been pinned while plans were running.
    check_unpinned(tools, &work.environment).await?;
    pause_compiles(tools, performed).await;
    Ok(tools.deployer.switch(&work.environment, signature).await?)
}

/// Announces the switch to followers. If it cannot be stored, it is announced after the next start.
async fn announce(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    signature: Option<&VersionSignature>,
    performed: &mut WorkOutcome,
) {
    let Some(sync) = &tools.listeners.file_sync else {
        return;
    };
    match sync.announce(&work.environment, signature).await {
        Ok(announced) => {
            performed.outcome.generation = Some(announced.generation);
            performed.outcome.code_commit = Some(sync.latest_repository().commit);
            performed.announced = Some(announced);
        }
        Err(error) => {
            let note = format!("followers cannot be told: {}", error_causes::chain(&error));
            performed.outcome.notes.push(note);
        }
    }
}

async fn publish(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    let (signature, commit) = tools.deployer.publish(&work.environment).await?;
    repair_and_switch(tools, work, &signature, performed).await?;
    if commit.is_some() {
        performed.outcome.control_commit = commit;
    }
    Ok(())
}

async fn promote(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    from: &EnvironmentName,
    signature: &VersionSignature,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    let (copied, to) = (signature.clone(), work.environment.clone());
    tools.deployer.copy(from, &copied, &to).await?;
    repair_and_switch(tools, work, signature, performed).await
}

async fn remove(
    tools: &DeploymentTools,
    round: &ResolveRoundResult,
    work: &DeploymentWork,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    let round = round.as_ref().map_err(Arc::clone)?;
    if let Some(found) = find_environment(tools, round, &work.environment).await? {
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
        Some(signature) => Some(acquire_hold(tools, work, signature).await?),
        None => None,
    };
    check_unpinned(tools, &work.environment).await?;
    pause_compiles(tools, performed).await;
    if tools.deployer.remove(&work.environment).await? {
        announce(tools, work, None, performed).await;
    }
    Ok(())
}

/// Pauses compiles, which must not overlap with the switch.
async fn pause_compiles(tools: &DeploymentTools, performed: &mut WorkOutcome) {
    for after in &tools.listeners.code_caches {
        let paused = after.pause_before_switch().await;
        performed.pauses.extend(paused.pause);
        performed.outcome.notes.extend(paused.note);
    }
}

/// Waits until no plan or job holds the environment.
async fn acquire_hold(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    signature: &VersionSignature,
) -> Result<EnvironmentHold, PerformError> {
    let who = HoldRequester::Deployment(work.ids.last().copied().unwrap_or_default());
    let hold = tools
        .locks
        .acquire(&work.environment, who, SWITCH_WAIT)
        .await;
    hold.map_err(|blockers| PerformError::EnvironmentHeld {
        environment: work.environment.clone(),
        signature: signature.clone(),
        blockers,
    })
}

async fn check_unpinned(
    tools: &DeploymentTools,
    environment: &EnvironmentName,
) -> Result<(), PerformError> {
    match tools.store.code_pin(environment.as_str()).await? {
        Some(pin) => Err(PerformError::Pinned(pin)),
        None => Ok(()),
    }
}

fn list_modules(modules: &[String]) -> String {
    match modules.is_empty() {
        true => "none".to_owned(),
        false => modules.join(", "),
    }
}

fn format_reason(reason: &str) -> String {
    match reason.is_empty() {
        true => String::new(),
        false => format!(" ({reason})"),
    }
}

// === impl WorkOutcome ===

impl WorkOutcome {
    /// The outcome of work that failed because of a bug.
    pub(super) fn internal_error() -> Self {
        let mut performed = Self::default();
        performed.outcome.error = Some(DeploymentFault {
            kind: error_kinds::DEPLOY_FAILURE.to_owned(),
            msg: DeploymentError::Internal.to_string(),
        });
        performed
    }

    /// True if another version is live than before, or none, or the same with other bytes.
    pub(super) fn has_switched(&self, work: &DeploymentWork) -> bool {
        let is_other = self.signature != self.before || self.is_healed;
        self.outcome.error.is_none() && !work.action.is_dry_run() && is_other
    }

    /// The record of the deployment as it will be stored.
    pub(super) fn to_deployment(&self, begun: Deployment) -> Deployment {
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

    pub(super) fn state(&self) -> DeploymentState {
        match self.outcome.error {
            None => DeploymentState::Synced,
            Some(_) => DeploymentState::Failed,
        }
    }
}

// === impl PerformError ===

impl PerformError {
    fn kind(&self) -> &'static str {
        match self {
            Self::Pinned(_) => error_kinds::PINNED,
            Self::EnvironmentHeld { .. } => error_kinds::HELD,
            Self::Deploy(DeploymentError::Unwritable(_)) => error_kinds::UNWRITABLE,
            _ => error_kinds::DEPLOY_FAILURE,
        }
    }
}
