//! The side that deploys: [`FileSync`], the [`FollowerBoard`] with a clock, a database and those who wait.
//!
//! The rules that must hold: a switch is written down before any follower is told of it; nobody waits longer
//! than he was promised.

mod check_in;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api_types::{FileSyncRepository, LateFollower};
use environments::EnvironmentName;
use store::{CodeGenerationRow, Store, StoreError, now_ms};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use self::check_in::{parse_report, to_submodules};
use super::combined_commit;
use super::files::FilesError;
use super::follower_board::{AnnouncedSwitch, FollowerBoard, FollowerState, LaggingFollower};
use super::published_files::PublishedFiles;
use code_store::content::{ContentError, ContentHash, TreeId};
use code_store::version::{VersionSignature, VersionStore};

/// Followers and what they are told. Cheap to clone.
#[derive(Clone)]
pub struct FileSync {
    inner: Arc<FileSyncInner>,
}

struct FileSyncInner {
    settings: FileSyncSettings,
    store: Store,
    versions: VersionStore,
    board: Mutex<FollowerBoard>,
    /// When each follower was written down.
    recorded_check_ins: Mutex<BTreeMap<String, i64>>,
    published: PublishedFiles,
    /// Of this process: cursors of another one mean nothing.
    series: String,
    /// Somebody told or was told something.
    changed: watch::Sender<()>,
    /// One switch after the other gets its number and is written down.
    announce_lock: tokio::sync::Mutex<()>,
}

/// How followers are dealt with.
#[derive(Clone, Copy, Debug)]
pub struct FileSyncSettings {
    /// How long a follower counts as there after it was heard.
    pub lease: Duration,
    /// How long a deployment waits for followers.
    pub timeout: Duration,
}

/// A content that is handed out.
#[derive(Debug)]
pub struct ServedBlob {
    /// Open to read.
    pub file: std::fs::File,
    /// Its size.
    pub size_bytes: u64,
}

/// Why a follower is not listened to.
#[derive(Debug, thiserror::Error)]
pub enum CheckInError {
    /// Something in what it tells.
    #[error("{0} {1}")]
    Invalid(&'static str, String),
    /// As many as may be.
    #[error("too many servers follow this one")]
    Full,
    /// The files of a version.
    #[error("cannot read the files of a version: {0}")]
    Files(String),
    /// The disk.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The database.
    #[error("cannot write down what a follower tells")]
    Store(#[from] StoreError),
}

// === impl FileSync ===

impl FileSync {
    /// Takes up what was told before. What is live now is what is on the disk.
    pub async fn start(
        settings: FileSyncSettings,
        store: Store,
        versions: VersionStore,
    ) -> Result<Self, CheckInError> {
        let mut board = FollowerBoard::new(milliseconds(settings.lease));
        for row in store.code_generations().await? {
            let signature = row.signature.as_deref().map(str::parse).transpose();
            if let (Ok(environment), Ok(signature)) = (row.environment.parse(), signature) {
                let generation = row.generation;
                let announced = AnnouncedSwitch {
                    generation,
                    signature,
                };
                board.announce(&environment, announced);
            }
        }
        // They could not tell anything while this server was away: they have their lease from now on.
        for row in store.code_followers().await? {
            let report = serde_json::from_str(&row.report).unwrap_or_default();
            if let Ok(report) = parse_report(&report) {
                drop(board.check_in(&row.name, report, now_ms()));
            }
        }
        let live = versions.live_environments()?;
        let sync = Self {
            inner: Arc::new(FileSyncInner {
                settings,
                store,
                versions,
                board: Mutex::new(board),
                recorded_check_ins: Mutex::default(),
                published: PublishedFiles::default(),
                series: uuid::Uuid::new_v4().to_string(),
                changed: watch::Sender::new(()),
                announce_lock: tokio::sync::Mutex::default(),
            }),
        };
        for (environment, signature) in live {
            let known = sync.board().environments().get(&environment).cloned();
            if known.is_none_or(|known| known.signature.as_ref() != Some(&signature)) {
                sync.announce(&environment, Some(&signature)).await?;
            }
        }
        sync.announce_removals().await?;
        Ok(sync)
    }

    /// Tells what was taken away while no server ran, or before one was killed that could not tell it.
    async fn announce_removals(&self) -> Result<(), CheckInError> {
        let versions = &self.inner.versions;
        for environment in versions.noted_removals()? {
            let known = self.board().environments().get(&environment).cloned();
            let is_told = known.is_none_or(|known| known.signature.is_none());
            if versions.live_version(&environment).is_some() || is_told {
                versions.delete_removal_note(&environment)?;
            } else {
                self.announce(&environment, None).await?;
            }
        }
        Ok(())
    }

    fn board(&self) -> MutexGuard<'_, FollowerBoard> {
        self.inner
            .board
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets followers get a version ready, and waits for them. Who is not then.
    pub async fn offer_version(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Vec<LateFollower> {
        self.board().offer(environment, signature);
        self.notify_changed();
        self.wait_until_none(|board, now| board.unready_followers(environment, signature, now))
            .await
    }

    /// Followers need not get a version ready any more.
    pub fn withdraw_offer(&self, environment: &EnvironmentName) {
        self.board().withdraw(environment);
        self.notify_changed();
    }

    /// An environment was switched here, or taken away: all followers are told.
    pub async fn announce(
        &self,
        environment: &EnvironmentName,
        signature: Option<&VersionSignature>,
    ) -> Result<AnnouncedSwitch, CheckInError> {
        let _one = self.inner.announce_lock.lock().await;
        let announced = AnnouncedSwitch {
            generation: self.board().next_generation(),
            signature: signature.cloned(),
        };
        let row = CodeGenerationRow {
            environment: environment.to_string(),
            generation: announced.generation,
            signature: signature.map(ToString::to_string),
        };
        self.inner.store.set_code_generation(&row).await?;
        // A note that stays says what is not so any more, and is forgotten at the next start.
        if let Err(error) = self.inner.versions.delete_removal_note(environment) {
            tracing::warn!(%error, "cannot forget that an environment was taken away");
        }
        let published: HashSet<_> = {
            let mut board = self.board();
            board.announce(environment, announced.clone());
            let published = board.published_versions();
            published.map(|(of, it)| (of.clone(), it.clone())).collect()
        };
        self.inner.published.retain(&published);
        self.notify_changed();
        Ok(announced)
    }

    /// Waits until followers have switched. Who has not then.
    pub async fn wait_for_followers(
        &self,
        environment: &EnvironmentName,
        announced: &AnnouncedSwitch,
    ) -> Vec<LateFollower> {
        self.wait_until_none(|board, now| board.lagging_followers(environment, announced, now))
            .await
    }

    /// Who has not switched by now.
    pub fn lagging_followers(
        &self,
        environment: &EnvironmentName,
        announced: &AnnouncedSwitch,
    ) -> Vec<LateFollower> {
        let behind = self
            .board()
            .lagging_followers(environment, announced, now_ms());
        behind.into_iter().map(Into::into).collect()
    }

    /// Waits until nobody is late of whom it is expected that he will not be, within the time for that.
    async fn wait_until_none(
        &self,
        late: impl Fn(&FollowerBoard, i64) -> Vec<LaggingFollower>,
    ) -> Vec<LateFollower> {
        let deadline = Instant::now() + self.inner.settings.timeout;
        let mut changed = self.inner.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let now = late(&self.board(), now_ms());
            let is_over = !now.iter().any(|it| it.may_catch_up);
            if is_over || Instant::now() >= deadline {
                return now.into_iter().map(Into::into).collect();
            }
            // A follower that falls silent changes nothing: the lease may end before the deadline does.
            let look = deadline.min(Instant::now() + Duration::from_secs(1));
            // Whichever it is, it is looked at once more.
            drop(timeout_at(look, changed.changed()).await);
        }
    }

    fn notify_changed(&self) {
        self.inner.changed.send_replace(());
    }

    /// What is live, as Puppet Enterprise names it.
    pub fn latest_repository(&self) -> FileSyncRepository {
        let submodules = to_submodules(&self.board());
        let live = submodules.iter();
        let live = live.filter_map(|(of, it)| Some((of.as_str(), it.commit.as_deref()?)));
        FileSyncRepository {
            commit: combined_commit(live).to_string(),
            submodules,
        }
    }

    /// All followers look at everything once more. Waits until those that are living have what is live, or
    /// until the time for that is over.
    pub async fn force_resync(&self) {
        self.board().force();
        self.notify_changed();
        let environments = self.board().environments().clone();
        let behind = |board: &FollowerBoard, now| {
            let late = environments.iter();
            late.flat_map(|(of, it)| board.lagging_followers(of, it, now))
                .collect()
        };
        drop(self.wait_until_none(behind).await);
    }

    /// All followers.
    pub fn followers(&self) -> Vec<FollowerState> {
        self.board().followers(now_ms())
    }

    /// The list of a version's files, as it is kept, and its hash; `None`: nobody is to have it.
    pub async fn manifest(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Result<Option<(TreeId, Vec<u8>)>, CheckInError> {
        if !self.board().is_published(environment, signature) {
            return Ok(None);
        }
        let (sync, version) = (self.clone(), (environment.clone(), signature.clone()));
        let files = run_blocking(move || {
            let inner = &sync.inner;
            Ok(inner.published.files(&inner.versions, &version)?)
        });
        let files = files.await?;
        Ok(Some((files.id, files.text.clone())))
    }

    /// All versions that are here: what is live, and what somebody may still work with.
    pub async fn published_versions(
        &self,
    ) -> Result<Vec<(EnvironmentName, VersionSignature)>, CheckInError> {
        let versions = self.inner.versions.clone();
        run_blocking(move || Ok(versions.all_versions()?)).await
    }

    /// A content; `None`: no version has it that is to be had.
    pub async fn open_blob(&self, hash: ContentHash) -> Result<Option<ServedBlob>, CheckInError> {
        let published: Vec<_> = {
            let board = self.board();
            let published = board.published_versions();
            published.map(|(of, it)| (of.clone(), it.clone())).collect()
        };
        let sync = self.clone();
        run_blocking(move || {
            let inner = &sync.inner;
            if !inner.published.has(hash) {
                // Lists that another process of this server gave out.
                for version in &published {
                    inner.published.files(&inner.versions, version)?;
                }
            }
            match inner.published.has(hash) {
                true => Ok(inner.versions.content().open_object(hash)?.map(Into::into)),
                false => Ok(None),
            }
        })
        .await
    }
}

impl fmt::Debug for FileSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSync").finish_non_exhaustive()
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CheckInError> + Send + 'static,
) -> Result<T, CheckInError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(CheckInError::Files("a bug; please report it".to_owned())))
}

impl From<FilesError> for CheckInError {
    fn from(error: FilesError) -> Self {
        Self::Files(error_causes::chain(&error))
    }
}

impl From<LaggingFollower> for LateFollower {
    fn from(late: LaggingFollower) -> Self {
        Self {
            name: late.name,
            why: late.why,
        }
    }
}

impl From<(std::fs::File, u64)> for ServedBlob {
    fn from((file, size_bytes): (std::fs::File, u64)) -> Self {
        Self { file, size_bytes }
    }
}
