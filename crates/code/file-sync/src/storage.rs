//! The storage service: [`FileSync`], the [`FollowerBoard`] with a clock, a database and waiting
//! requests.
//!
//! Invariants: a switch is written to the database before it is announced; no request waits longer
//! than its timeout.

mod check_in;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api_types::{FileSyncRepository, LateFollower};
use environments::EnvironmentName;
use partial_debug::partial_debug;
use store::{CodeGenerationRow, Store, StoreError, now_ms};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use self::check_in::{parse_report, to_submodules};
use super::combined_commit;
use super::files::FilesError;
use super::follower_board::{AnnouncedSwitch, FollowerBoard, FollowerState, LaggingFollower};
use super::published_files::PublishedFiles;
use code_store::content::{ContentError, ContentHash, TreeId};
use code_store::disk_work::on_disk;
use code_store::version::{VersionSignature, VersionStore};

/// File sync storage service. Cheap to clone.
#[derive(Clone)]
pub struct FileSync {
    inner: Arc<FileSyncInner>,
}

struct FileSyncInner {
    settings: FileSyncSettings,
    store: Store,
    versions: VersionStore,
    board: Mutex<FollowerBoard>,
    /// Time at which each follower's report was last written to the database, in milliseconds since
    /// 1970.
    recorded_check_ins: Mutex<BTreeMap<String, i64>>,
    published: PublishedFiles,
    /// Identifies this process in cursors: those of another process are invalid.
    series: String,
    /// Signals a report or an announcement.
    changed: watch::Sender<()>,
    /// Serializes switches: each gets its generation and is written to the database before the
    /// next.
    announce_lock: tokio::sync::Mutex<()>,
}

/// Time limits for followers.
#[derive(Clone, Copy, Debug)]
pub struct FileSyncSettings {
    /// Time after its last check-in during which a follower counts as living.
    pub lease: Duration,
    /// Longest time that a deployment waits for followers.
    pub timeout: Duration,
}

/// A content to serve to a follower.
#[derive(Debug)]
pub struct ServedBlob {
    /// The file, open for reading.
    pub file: std::fs::File,
    /// Size of the file in bytes.
    pub size_bytes: u64,
}

/// Cause for which a request of a follower fails.
#[derive(Debug, thiserror::Error)]
pub enum CheckInError {
    /// The report has an invalid field: its name and the cause.
    #[error("{0} {1}")]
    Invalid(&'static str, String),
    /// The limit of followers is reached.
    #[error("too many servers follow this one")]
    Full,
    /// The files of a version cannot be read.
    #[error("cannot read the files of a version: {0}")]
    Files(String),
    /// The disk or the content store failed.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The report cannot be written to the database.
    #[error("cannot write down what a follower tells")]
    Store(#[from] StoreError),
}

// === impl FileSync ===

impl FileSync {
    /// Restores announcements and reports from the database. Live is what the links on the disk
    /// point to.
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
        // Followers could not check in while this server was down: their lease starts now.
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

    /// Announces removals that were made while no server ran, or that a killed server did not
    /// announce.
    async fn announce_removals(&self) -> Result<(), CheckInError> {
        let versions = &self.inner.versions;
        for environment in versions.noted_removals()? {
            let known = self.board().environments().get(&environment).cloned();
            let is_told = known.is_none_or(|known| known.signature.is_none());
            if versions.live_version(&environment).is_some() || is_told {
                on_disk(|| versions.delete_removal_note(&environment))?;
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

    /// Offers a version and waits until followers have staged it. Returns those that have not
    /// within the timeout.
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

    /// Ends the offer of an environment's version.
    pub fn withdraw_offer(&self, environment: &EnvironmentName) {
        self.board().withdraw(environment);
        self.notify_changed();
    }

    /// Writes the switch or removal of an environment to the database and announces it to all
    /// followers.
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
        // A note that stays is outdated, and is deleted at the next start.
        if let Err(error) = on_disk(|| self.inner.versions.delete_removal_note(environment)) {
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

    /// Waits until followers have switched. Returns those that have not within the timeout.
    pub async fn wait_for_followers(
        &self,
        environment: &EnvironmentName,
        announced: &AnnouncedSwitch,
    ) -> Vec<LateFollower> {
        self.wait_until_none(|board, now| board.lagging_followers(environment, announced, now))
            .await
    }

    /// Followers that have not switched by now.
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

    /// Waits until no follower that may still catch up is late, or until the timeout.
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
            // A silent follower causes no signal, and its lease may end before the deadline.
            let look = deadline.min(Instant::now() + Duration::from_secs(1));
            // Signal or timeout, the followers are examined again.
            drop(timeout_at(look, changed.changed()).await);
        }
    }

    fn notify_changed(&self) {
        self.inner.changed.send_replace(());
    }

    /// The live versions, in Puppet Enterprise's form.
    pub fn latest_repository(&self) -> FileSyncRepository {
        let submodules = to_submodules(&self.board());
        let live = submodules.iter();
        let live = live.filter_map(|(of, it)| Some((of.as_str(), it.commit.as_deref()?)));
        FileSyncRepository {
            commit: combined_commit(live).to_string(),
            submodules,
        }
    }

    /// Makes all followers check every environment once more. Waits until those that are living
    /// have the live versions, or until the timeout.
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

    /// The state of all followers.
    pub fn followers(&self) -> Vec<FollowerState> {
        self.board().followers(now_ms())
    }

    /// The encoded list of a version's files, and its hash; `None` if the version is neither
    /// announced nor offered.
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

    /// All versions on this server: the live ones, and those that may still be in use.
    pub async fn published_versions(
        &self,
    ) -> Result<Vec<(EnvironmentName, VersionSignature)>, CheckInError> {
        let versions = self.inner.versions.clone();
        run_blocking(move || Ok(versions.all_versions()?)).await
    }

    /// Opens a content; `None` if no announced or offered version has it.
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
                // A follower may have the list of files from an earlier process of this server.
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

partial_debug!(FileSync {});

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
