//! The client side of file sync: [`Follower`], a task that checks in, fetches versions, switches
//! and reports.
//!
//! Invariant: it makes no decisions itself; [`FollowerCore`] returns the next steps.

mod core;
mod fetch;
mod incoming_contents;
mod partial_content;
mod pending_events;
mod remote;
mod saved_state;
mod stage;
mod status;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api_types::{CheckInCommand, CheckedIn};
use environments::EnvironmentName;
use futures_util::future::join_all;
use pki::{ServerCertnames, TlsFiles};
use reqwest::Url;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::core::{FollowerCore, FollowerStep};
use self::incoming_contents::IncomingContents;
use self::pending_events::{PendingEvents, StagedVersion, wait_for_check_in};
use self::remote::{RemoteServer, RemoteServerError};
use self::saved_state::SavedFollowerState;
use self::stage::stage;
pub use self::status::{FollowedVersion, FollowerStatus, LeaseKnowledge, SyncState};
use crate::defaults::{
    FOLLOWER_BACKOFF, FOLLOWER_BACKOFF_MAX, FOLLOWER_KEEP, FOLLOWER_RETRY, FOLLOWER_VERSIONS,
};
use code_store::code_cache::{CodeCache, CompilePause};
use code_store::content::{ContentError, ContentStore};
use code_store::directory_lock::DirectoryLock;
use code_store::gc::{self, collect};
use code_store::version::{VersionSignature, VersionStore};
use store::now_ms;

/// Settings of a follower.
#[derive(Debug)]
pub struct FollowerSettings {
    /// Base URL of the server that is followed: `https://tutti.example.com:8143`.
    pub server: Url,
    /// Certificate and key for that server, and the CA that its certificate is checked with.
    pub tls: TlsFiles,
    /// Certnames that the server may have, besides the host name of `server`.
    pub certnames: ServerCertnames,
    /// Directory for contents and versions.
    pub directory: PathBuf,
    /// Directory of Puppet's `environments`.
    pub environments: PathBuf,
    /// Reaction to an expired lease, after which the live versions of the server are unknown.
    pub stale: StaleLeasePolicy,
    /// Caches that are flushed after a switch, such as those of a puppetserver.
    pub code_caches: Vec<Arc<dyn CodeCache>>,
}

/// Reaction of a follower to a server that has been silent for longer than the lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StaleLeasePolicy {
    /// Keeps the environments, and logs it.
    #[default]
    Keep,
    /// Removes the environments until the server is heard again.
    Withdraw,
}

/// A file sync client, which follows one server.
#[derive(Debug)]
pub struct Follower {
    settings: FollowerSettings,
    remote: RemoteServer,
    versions: VersionStore,
    arriving: IncomingContents,
    core: FollowerCore,
    saved: SavedFollowerState,
    /// Publishes the status to subscribers.
    status: watch::Sender<FollowerStatus>,
    /// Lock of the directory, so that no other process writes to it.
    _hold: DirectoryLock,
}

// === impl Follower ===

impl Follower {
    /// Opens the directories; waits until no other process writes to them. Blocks.
    pub fn open(settings: FollowerSettings) -> Result<Self, ContentError> {
        let hold = DirectoryLock::acquire(&settings.directory, |holder| {
            tracing::info!(
                pid = holder.pid,
                "another process writes there; waiting for it"
            );
        })?;
        let content = ContentStore::open(settings.directory.join("content"))?;
        let arriving = IncomingContents::open(&content)?;
        let versions = settings.directory.join("versions");
        let versions = VersionStore::open(content, &versions, &settings.environments)?;
        let kept = SavedFollowerState::read(&settings.directory);
        let live = versions.live_environments()?.into_iter();
        let live = live.map(|(environment, signature)| {
            let generation = kept.generation(&environment, &signature);
            (environment, signature, generation)
        });
        Ok(Self {
            remote: RemoteServer::new(
                settings.server.clone(),
                settings.tls.clone(),
                settings.certnames.clone(),
            ),
            core: FollowerCore::new(live.collect()),
            versions,
            arriving,
            saved: kept,
            status: watch::Sender::default(),
            settings,
            _hold: hold,
        })
    }

    /// Follows the server until `stop` is cancelled. Unfinished downloads are resumed after the
    /// next start.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut waits = PendingEvents::new(&self.saved);
        loop {
            self.apply_steps(&mut waits).await;
            self.start_check_in(&mut waits);
            self.publish_status();
            let wakes = waits.next_deadline();
            tokio::select! {
                () = stop.cancelled() => break,
                answer = wait_for_check_in(&mut waits.check_in) => self.handle_check_in(&mut waits, answer).await,
                Some(staged) = waits.staging.join_next() => self.finish_staging(&mut waits, staged),
                () = tokio::time::sleep_until(wakes) => self.handle_deadlines(&mut waits).await,
            }
        }
        waits.staging.shutdown().await;
    }

    /// Carries out the steps that are due.
    async fn apply_steps(&mut self, waits: &mut PendingEvents) {
        let steps = self.core.next_steps();
        let switches = |step: &FollowerStep| !matches!(step, FollowerStep::Stage(..));
        let pauses = match steps.iter().any(switches) {
            true => self.pause_compiles().await,
            false => Vec::new(),
        };
        let mut switched = Vec::new();
        for step in steps {
            match step {
                FollowerStep::Stage(environment, signature) => {
                    self.begin_staging(waits, environment, signature);
                }
                FollowerStep::Switch(environment, signature, generation) => {
                    self.switch(waits, &environment, &signature, generation)
                        .await;
                    switched.push(environment);
                }
                FollowerStep::Remove(environment, generation) => {
                    let (versions, of) = (self.versions.clone(), environment.clone());
                    let removed = run_blocking(move || versions.remove(&of)).await;
                    match removed {
                        Ok(_) => tracing::info!(%environment, generation, "taken away"),
                        Err(why) => tracing::error!(%environment, why, "cannot be taken away"),
                    }
                    self.core.mark_removed(&environment, generation);
                    switched.push(environment);
                }
            }
        }
        if switched.is_empty() {
            return;
        }
        self.notify_code_caches(&switched).await;
        drop(pauses);
        self.save_state();
        if !self.core.is_staging() {
            self.collect_garbage().await;
        }
    }

    /// Pauses compiles, once for all environments that are to be switched.
    async fn pause_compiles(&self) -> Vec<Box<dyn CompilePause>> {
        let paused = join_all(
            self.settings
                .code_caches
                .iter()
                .map(|it| it.pause_before_switch()),
        )
        .await;
        let mut pauses = Vec::new();
        for paused in paused {
            if let Some(note) = paused.note {
                tracing::warn!(note, "switching all the same");
            }
            pauses.extend(paused.pause);
        }
        pauses
    }

    /// Flushes the code caches of the switched environments.
    async fn notify_code_caches(&self, environments: &[EnvironmentName]) {
        let after = &self.settings.code_caches;
        let told = environments
            .iter()
            .flat_map(|of| after.iter().map(|it| it.flush_after_switch(of)));
        for why in join_all(told).await.into_iter().filter_map(Result::err) {
            tracing::warn!(why, "not told");
        }
    }

    fn begin_staging(
        &self,
        waits: &mut PendingEvents,
        environment: EnvironmentName,
        signature: VersionSignature,
    ) {
        let (remote, versions) = (self.remote.clone(), self.versions.clone());
        let arriving = self.arriving.clone();
        let places = Arc::clone(&waits.stage_permits);
        waits.staging.spawn(async move {
            // The semaphore is never closed.
            let _place = places.acquire().await.ok();
            let staged = stage(&remote, &arriving, &versions, (&environment, &signature)).await;
            (
                environment,
                signature,
                staged.map_err(|error| error_causes::chain(&error)),
            )
        });
    }

    async fn switch(
        &mut self,
        waits: &mut PendingEvents,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        generation: i64,
    ) {
        let (versions, of, to) = (
            self.versions.clone(),
            environment.clone(),
            signature.clone(),
        );
        match run_blocking(move || versions.switch(&of, &to)).await {
            Ok(switched) => {
                if let Some(path) = switched.moved_aside {
                    let path = path.display();
                    tracing::warn!(%environment, %path, "what stood there is moved");
                }
                tracing::info!(%environment, version = %signature, generation, "live");
                self.core.mark_switched(environment, signature, generation);
            }
            Err(why) => self.record_failure(waits, environment, signature, why),
        }
    }

    fn finish_staging(
        &mut self,
        waits: &mut PendingEvents,
        staged: Result<StagedVersion, tokio::task::JoinError>,
    ) {
        // The tasks are aborted only at shutdown, and a panic was reported when it occurred.
        let Ok((environment, signature, staged)) = staged else {
            return;
        };
        match staged {
            Ok(()) => {
                tracing::info!(%environment, version = %signature, "ready");
                self.core.mark_staged(&environment, &signature);
            }
            Err(why) => self.record_failure(waits, &environment, &signature, why),
        }
    }

    fn record_failure(
        &mut self,
        waits: &mut PendingEvents,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        why: String,
    ) {
        tracing::warn!(%environment, version = %signature, why, "cannot have this version");
        self.core.mark_failed(environment, signature, why);
        waits
            .retry_at
            .get_or_insert(Instant::now() + FOLLOWER_RETRY);
    }

    /// Starts a check-in, unless one with the same report is under way.
    fn start_check_in(&self, waits: &mut PendingEvents) {
        let report = self.core.to_report();
        let is_same = waits
            .check_in
            .as_ref()
            .is_some_and(|(told, _)| *told == report);
        if is_same || waits.check_in_at.is_some() {
            return;
        }
        let command = CheckInCommand {
            cursor: self.core.cursor(),
            environments: report.clone(),
        };
        let remote = self.remote.clone();
        let asking = Box::pin(async move { remote.check_in(&command).await });
        waits.check_in = Some((report, asking));
    }

    async fn handle_check_in(
        &mut self,
        waits: &mut PendingEvents,
        answer: Result<CheckedIn, RemoteServerError>,
    ) {
        waits.check_in = None;
        let told = match answer {
            Ok(told) => told,
            Err(error) => {
                if waits.backoff == FOLLOWER_BACKOFF {
                    tracing::warn!(
                        error = error_causes::chain(&error),
                        "cannot ask; asking again and again"
                    );
                }
                waits.check_in_at = Some(Instant::now() + waits.backoff);
                waits.backoff = (waits.backoff * 2).min(FOLLOWER_BACKOFF_MAX);
                return;
            }
        };
        if waits.backoff != FOLLOWER_BACKOFF || self.saved.is_stale {
            tracing::info!("the server answers again");
        }
        waits.backoff = FOLLOWER_BACKOFF;
        let lease = Duration::from_secs(told.lease_s);
        waits.lease_ends = Some(Instant::now() + lease);
        self.saved.record_contact(now_ms(), told.lease_s);
        if self.saved.forced.replace(told.forced) != Some(told.forced) {
            self.core.allow_retries();
        }
        self.core.apply_check_in(told);
        // An administrator may have changed a link on this machine.
        let versions = self.versions.clone();
        match run_blocking(move || versions.live_environments()).await {
            Ok(live) => self.core.sync_with_disk(&live),
            Err(why) => tracing::warn!(why, "cannot see what is live here"),
        }
        self.save_state();
    }

    async fn handle_deadlines(&mut self, waits: &mut PendingEvents) {
        let now = Instant::now();
        waits.check_in_at.take_if(|at| *at <= now);
        if waits.retry_at.take_if(|at| *at <= now).is_some() {
            self.core.allow_retries();
        }
        if waits.lease_ends.take_if(|at| *at <= now).is_some() {
            self.handle_lease_expiry().await;
        }
    }

    /// Applies [`StaleLeasePolicy`], since the server's live versions are unknown now.
    async fn handle_lease_expiry(&mut self) {
        self.saved.is_stale = true;
        self.core.discard_announcements();
        let keeps = self.settings.stale == StaleLeasePolicy::Keep;
        tracing::error!(
            keeps,
            "the server was not heard for longer than the lease: what is live here may be old"
        );
        if !keeps {
            let live: Vec<_> = self.core.live_environments().cloned().collect();
            let versions = self.versions.clone();
            let of = live.clone();
            let pauses = self.pause_compiles().await;
            let removed =
                run_blocking(move || of.iter().try_for_each(|of| versions.remove(of).map(drop)));
            if let Err(why) = removed.await {
                tracing::error!(why, "cannot take environments away");
            }
            self.core.sync_with_disk(&[]);
            self.notify_code_caches(&live).await;
            drop(pauses);
        }
        self.save_state();
    }

    /// Writes `follower.json`.
    fn save_state(&mut self) {
        self.saved.live = self.core.saved_environments();
        self.saved.server = self.settings.server.to_string();
        if let Err(error) = self.saved.write(&self.settings.directory) {
            tracing::warn!(%error, "cannot write follower.json");
        }
    }

    /// Removes versions that the server does not keep any more; the server knows which are in use.
    /// If it does not answer, all stay.
    async fn collect_garbage(&self) {
        let mut used = match self.remote.versions().await {
            Ok(kept) => kept,
            Err(error) => {
                let why = error_causes::chain(&error);
                tracing::warn!(
                    why,
                    "old versions stay: it is not known which are still needed"
                );
                return;
            }
        };
        let staged = self.core.staged_versions();
        used.extend(staged.map(|(of, it)| (of.clone(), it.clone())));
        let kept = gc::GcOptions {
            used,
            keep: gc::RetentionSettings {
                versions: Some(FOLLOWER_VERSIONS),
                age: FOLLOWER_KEEP,
            },
            ..gc::GcOptions::default()
        };
        let versions = self.versions.clone();
        if let Err(why) = run_blocking(move || collect(&versions, &kept)).await {
            tracing::warn!(why, "cannot remove old versions");
        }
    }
}

async fn run_blocking<T: Send + 'static, E: std::error::Error + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error_causes::chain(&error)),
        Err(_) => Err("a bug; please report it".to_owned()),
    }
}
