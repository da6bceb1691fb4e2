//! The side that follows: [`Follower`], a task that asks, gets versions, switches and tells.
//!
//! The rule that must hold: it decides nothing by itself; [`Core`] says what is next.

mod arriving;
mod core;
mod fetch;
mod following;
mod kept;
mod part;
mod remote;
mod stage;
mod waits;

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

use self::arriving::Arriving;
use self::core::{Core, Step};
pub use self::following::{Followed, Following, Knows, SyncState};
use self::kept::Kept;
use self::remote::{Remote, RemoteError};
use self::stage::stage;
use self::waits::{Staged, Waits, answer};
use crate::defaults::{
    FOLLOWER_BACKOFF, FOLLOWER_BACKOFF_MAX, FOLLOWER_KEEP, FOLLOWER_RETRY, FOLLOWER_VERSIONS,
};
use code_store::code_cache::{CodeCache, CompilePause};
use code_store::content::{Content, ContentError};
use code_store::gc::{self, collect};
use code_store::hold::DirectoryLock;
use code_store::version::{VersionSignature, Versions};
use store::now_ms;

/// What a follower is told before it starts.
#[derive(Debug)]
pub struct FollowerSettings {
    /// The server that it follows: `https://tutti.example.com:8143`.
    pub server: Url,
    /// What it shows that server.
    pub tls: TlsFiles,
    /// The certnames that server may have, beside the host name that is checked anyway.
    pub certnames: ServerCertnames,
    /// Where it keeps contents and versions.
    pub directory: PathBuf,
    /// Puppet's `environments`.
    pub environments: PathBuf,
    /// What it does when it does not know what is live.
    pub stale: Stale,
    /// Who has to know of a switch here.
    pub after: Vec<Arc<dyn CodeCache>>,
}

/// What a follower does whose server is silent for longer than its lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stale {
    /// It keeps what it has, and says so.
    #[default]
    Keep,
    /// It takes its environments away until it knows what is live.
    Withdraw,
}

/// Follows a server.
#[derive(Debug)]
pub struct Follower {
    settings: FollowerSettings,
    remote: Remote,
    versions: Versions,
    arriving: Arriving,
    core: Core,
    kept: Kept,
    /// Those who watch it.
    watched: watch::Sender<Following>,
    /// Nobody else writes there.
    _hold: DirectoryLock,
}

// === impl Follower ===

impl Follower {
    /// Opens the directories; waits until no other process writes there. Blocks.
    pub fn open(settings: FollowerSettings) -> Result<Self, ContentError> {
        let hold = DirectoryLock::take(&settings.directory, |holder| {
            tracing::info!(
                pid = holder.pid,
                "another process writes there; waiting for it"
            );
        })?;
        let content = Content::open(settings.directory.join("content"))?;
        let arriving = Arriving::open(&content)?;
        let versions = settings.directory.join("versions");
        let versions = Versions::open(content, &versions, &settings.environments)?;
        let kept = Kept::read(&settings.directory);
        let live = versions.environments()?.into_iter();
        let live = live.map(|(environment, signature)| {
            let generation = kept.generation(&environment, &signature);
            (environment, signature, generation)
        });
        Ok(Self {
            remote: Remote::new(
                settings.server.clone(),
                settings.tls.clone(),
                settings.certnames.clone(),
            ),
            core: Core::new(live.collect()),
            versions,
            arriving,
            kept,
            watched: watch::Sender::default(),
            settings,
            _hold: hold,
        })
    }

    /// Follows until it is stopped. What was under way then goes on after the next start.
    pub async fn run(mut self, stop: CancellationToken) {
        let mut waits = Waits::new(&self.kept);
        loop {
            self.act(&mut waits).await;
            self.ask(&mut waits);
            self.show();
            let wakes = waits.wakes();
            tokio::select! {
                () = stop.cancelled() => break,
                answer = answer(&mut waits.asking) => self.heard(&mut waits, answer).await,
                Some(staged) = waits.staging.join_next() => self.staged(&mut waits, staged),
                () = tokio::time::sleep_until(wakes) => self.woken(&mut waits).await,
            }
        }
        waits.staging.shutdown().await;
    }

    /// Does what is to be done now.
    async fn act(&mut self, waits: &mut Waits) {
        let steps = self.core.steps();
        let switches = |step: &Step| !matches!(step, Step::Stage(..));
        let pauses = match steps.iter().any(switches) {
            true => self.pause().await,
            false => Vec::new(),
        };
        let mut switched = Vec::new();
        for step in steps {
            match step {
                Step::Stage(environment, signature) => {
                    self.begin(waits, environment, signature);
                }
                Step::Switch(environment, signature, generation) => {
                    self.switch(waits, &environment, &signature, generation)
                        .await;
                    switched.push(environment);
                }
                Step::Remove(environment, generation) => {
                    let (versions, of) = (self.versions.clone(), environment.clone());
                    let removed = blocking(move || versions.remove(&of)).await;
                    match removed {
                        Ok(_) => tracing::info!(%environment, generation, "taken away"),
                        Err(why) => tracing::error!(%environment, why, "cannot be taken away"),
                    }
                    self.core.removed(&environment, generation);
                    switched.push(environment);
                }
            }
        }
        if switched.is_empty() {
            return;
        }
        self.tell(&switched).await;
        drop(pauses);
        self.keep();
        if !self.core.is_busy() {
            self.collect().await;
        }
    }

    /// Holds back what must not meet a switch, once for all environments that are to be switched.
    async fn pause(&self) -> Vec<Box<dyn CompilePause>> {
        let paused = join_all(self.settings.after.iter().map(|it| it.switching())).await;
        let mut pauses = Vec::new();
        for paused in paused {
            if let Some(note) = paused.note {
                tracing::warn!(note, "switching all the same");
            }
            pauses.extend(paused.pause);
        }
        pauses
    }

    /// Tells who compiles that other versions are live, or none.
    async fn tell(&self, environments: &[EnvironmentName]) {
        let after = &self.settings.after;
        let told = environments
            .iter()
            .flat_map(|of| after.iter().map(|it| it.switched(of)));
        for why in join_all(told).await.into_iter().filter_map(Result::err) {
            tracing::warn!(why, "not told");
        }
    }

    fn begin(&self, waits: &mut Waits, environment: EnvironmentName, signature: VersionSignature) {
        let (remote, versions) = (self.remote.clone(), self.versions.clone());
        let arriving = self.arriving.clone();
        let places = Arc::clone(&waits.places);
        waits.staging.spawn(async move {
            // It is never closed.
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
        waits: &mut Waits,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        generation: i64,
    ) {
        let (versions, of, to) = (
            self.versions.clone(),
            environment.clone(),
            signature.clone(),
        );
        match blocking(move || versions.switch(&of, &to)).await {
            Ok(switched) => {
                if let Some(path) = switched.moved_aside {
                    let path = path.display();
                    tracing::warn!(%environment, %path, "what stood there is moved");
                }
                tracing::info!(%environment, version = %signature, generation, "live");
                self.core.switched(environment, signature, generation);
            }
            Err(why) => self.cannot(waits, environment, signature, why),
        }
    }

    fn staged(&mut self, waits: &mut Waits, staged: Result<Staged, tokio::task::JoinError>) {
        // Nothing aborts it but the end, and a panic was told when it happened.
        let Ok((environment, signature, staged)) = staged else {
            return;
        };
        match staged {
            Ok(()) => {
                tracing::info!(%environment, version = %signature, "ready");
                self.core.staged(&environment, &signature);
            }
            Err(why) => self.cannot(waits, &environment, &signature, why),
        }
    }

    fn cannot(
        &mut self,
        waits: &mut Waits,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        why: String,
    ) {
        tracing::warn!(%environment, version = %signature, why, "cannot have this version");
        self.core.failed(environment, signature, why);
        waits
            .retry_at
            .get_or_insert(Instant::now() + FOLLOWER_RETRY);
    }

    /// Asks, unless a question is under way that tells the same.
    fn ask(&self, waits: &mut Waits) {
        let report = self.core.report();
        let is_same = waits
            .asking
            .as_ref()
            .is_some_and(|(told, _)| *told == report);
        if is_same || waits.ask_at.is_some() {
            return;
        }
        let command = CheckInCommand {
            cursor: self.core.cursor(),
            environments: report.clone(),
        };
        let remote = self.remote.clone();
        let asking = Box::pin(async move { remote.check_in(&command).await });
        waits.asking = Some((report, asking));
    }

    async fn heard(&mut self, waits: &mut Waits, answer: Result<CheckedIn, RemoteError>) {
        waits.asking = None;
        let told = match answer {
            Ok(told) => told,
            Err(error) => {
                if waits.backoff == FOLLOWER_BACKOFF {
                    tracing::warn!(
                        error = error_causes::chain(&error),
                        "cannot ask; asking again and again"
                    );
                }
                waits.ask_at = Some(Instant::now() + waits.backoff);
                waits.backoff = (waits.backoff * 2).min(FOLLOWER_BACKOFF_MAX);
                return;
            }
        };
        if waits.backoff != FOLLOWER_BACKOFF || self.kept.is_stale {
            tracing::info!("the server answers again");
        }
        waits.backoff = FOLLOWER_BACKOFF;
        let lease = Duration::from_secs(told.lease_s);
        waits.lease_ends = Some(Instant::now() + lease);
        self.kept.heard(now_ms(), told.lease_s);
        if self.kept.forced.replace(told.forced) != Some(told.forced) {
            self.core.retry();
        }
        self.core.told(told);
        // Somebody may have changed a link here.
        let versions = self.versions.clone();
        match blocking(move || versions.environments()).await {
            Ok(live) => self.core.found(&live),
            Err(why) => tracing::warn!(why, "cannot see what is live here"),
        }
        self.keep();
    }

    async fn woken(&mut self, waits: &mut Waits) {
        let now = Instant::now();
        waits.ask_at.take_if(|at| *at <= now);
        if waits.retry_at.take_if(|at| *at <= now).is_some() {
            self.core.retry();
        }
        if waits.lease_ends.take_if(|at| *at <= now).is_some() {
            self.lost().await;
        }
    }

    /// It is not known any more what is live.
    async fn lost(&mut self) {
        self.kept.is_stale = true;
        self.core.forget_told();
        let keeps = self.settings.stale == Stale::Keep;
        tracing::error!(
            keeps,
            "the server was not heard for longer than the lease: what is live here may be old"
        );
        if !keeps {
            let live: Vec<_> = self.core.live().cloned().collect();
            let versions = self.versions.clone();
            let of = live.clone();
            let pauses = self.pause().await;
            let removed =
                blocking(move || of.iter().try_for_each(|of| versions.remove(of).map(drop)));
            if let Err(why) = removed.await {
                tracing::error!(why, "cannot take environments away");
            }
            self.core.found(&[]);
            self.tell(&live).await;
            drop(pauses);
        }
        self.keep();
    }

    /// Writes down what is known.
    fn keep(&mut self) {
        self.kept.live = self.core.generations();
        self.kept.server = self.settings.server.to_string();
        if let Err(error) = self.kept.write(&self.settings.directory) {
            tracing::warn!(%error, "cannot write follower.json");
        }
    }

    /// Removes versions that the server does not keep any more: it knows who works with which. If it does
    /// not say, all stay.
    async fn collect(&self) {
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
        let kept = gc::CollectOptions {
            used,
            keep: gc::RetentionSettings {
                versions: Some(FOLLOWER_VERSIONS),
                age: FOLLOWER_KEEP,
            },
            ..gc::CollectOptions::default()
        };
        let versions = self.versions.clone();
        if let Err(why) = blocking(move || collect(&versions, &kept)).await {
            tracing::warn!(why, "cannot remove old versions");
        }
    }
}

async fn blocking<T: Send + 'static, E: std::error::Error + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| error_causes::chain(&error)),
        Err(_) => Err("a bug; please report it".to_owned()),
    }
}
