//! Repair of versions from their locks alone, regardless of the current state of their branches:
//! [`Deployer::restore`], [`Deployer::restore_once`].
//!
//! Invariant: a version keeps its signature, so its replacement is built from the commits, archives
//! and revisions that its lock names.

use environments::EnvironmentName;
use tokio_util::sync::CancellationToken;

use super::{Deployer, run_blocking};
use crate::error::DeploymentError;
use crate::service::VerifyError;
use crate::staging;
use code_sources::resolve::ResolvedControl;
use code_store::integrity::{
    self, StoreCheck, StoreCheckError, StoreVerification, VersionIntegrity, VersionRepair,
    check_store, named_paths,
};
use code_store::version::{VersionLayout, VersionSignature};
use code_store::version_lock::{STAGED, VersionLock, staged_lock};

/// Outcome of [`Deployer::restore_once`] for one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoredVersion {
    /// The version is whole; these damaged files of it were replaced, by path.
    Whole(Vec<String>),
    /// The version could not be compared, for this reason, and stays as it is.
    Unknown(String),
}

// === impl Deployer ===

impl Deployer {
    /// Compares all contents and versions with their hashes; see [`check_store`]. Stops when `cut`
    /// is cancelled.
    pub async fn check_store(&self, cut: CancellationToken) -> Result<StoreCheck, StoreCheckError> {
        let versions = self.versions().clone();
        let checked = tokio::task::spawn_blocking(move || check_store(&versions, &cut));
        checked.await.unwrap_or(Err(StoreCheckError::Interrupted))
    }

    /// Compares the store like [`check_store`](Self::check_store); with `repair`, replaces damaged
    /// contents and versions. For use without a server: the repairs are not recorded as
    /// deployments.
    pub async fn verify(
        &self,
        repair: bool,
        cut: CancellationToken,
    ) -> Result<StoreVerification, VerifyError> {
        let mut verification = StoreVerification {
            check: self.check_store(cut).await?,
            ..StoreVerification::default()
        };
        if !repair {
            return Ok(verification);
        }
        self.discard_contents(&verification.check).await?;
        for version in verification.check.damaged_or_unknown() {
            let restored = Box::pin(self.restore(&version.0, &version.1)).await;
            let repair = VersionRepair {
                deployment: None,
                error: restored.err().map(|error| error_causes::chain(&error)),
            };
            verification.repairs.insert(version, repair);
        }
        Ok(verification)
    }

    /// Removes damaged contents from the store, so that the next tree that has one stores it again.
    pub async fn discard_contents(&self, check: &StoreCheck) -> Result<(), DeploymentError> {
        let damaged = check.damaged_contents.clone();
        run_blocking(move || Ok(integrity::discard_contents(&damaged)?)).await
    }

    /// Replaces a version by one built from the same lock, if files of it are damaged; returns
    /// their paths. Trees whose contents are no longer in the store are fetched again.
    pub async fn restore(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Result<Vec<String>, DeploymentError> {
        let lock = self.versions().read_lock(environment, signature);
        let lock = lock.filter(|lock| lock.signature() == *signature);
        let lock = lock.ok_or_else(|| DeploymentError::NoLock {
            environment: environment.clone(),
            signature: signature.clone(),
        })?;
        let layout = match lock.control.remote == STAGED {
            true => self.staged_layout(environment, &lock).await?,
            false => Box::pin(self.layout_of_lock(environment, &lock)).await?,
        };
        let versions = self.versions().clone();
        let version = (environment.clone(), signature.clone());
        let more = self.generate_types(environment, &lock);
        let healed =
            run_blocking(move || versions.repair_damaged(&version.0, &version.1, &layout, more))
                .await?;
        self.record_verified(environment, signature);
        Ok(healed)
    }

    /// Restores a version before it becomes live again. Each version is compared once in the life
    /// of a process.
    pub async fn restore_once(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> Result<RestoredVersion, DeploymentError> {
        let version = (environment.clone(), signature.clone());
        // The switch reports a version that does not exist.
        if self.is_verified(&version) || !self.versions().has(environment, signature) {
            return Ok(RestoredVersion::Whole(Vec::new()));
        }
        let versions = self.versions().clone();
        let (of, it) = version;
        let integrity =
            run_blocking(move || Ok(integrity::check_version(&versions, &of, &it))).await?;
        let damaged = match integrity {
            VersionIntegrity::Whole => {
                self.record_verified(environment, signature);
                return Ok(RestoredVersion::Whole(Vec::new()));
            }
            VersionIntegrity::Damaged(paths) => paths,
            VersionIntegrity::Unknown(_) => Vec::new(),
        };
        match Box::pin(self.restore(environment, signature)).await {
            Ok(healed) => Ok(RestoredVersion::Whole(healed)),
            Err(error) if damaged.is_empty() => {
                Ok(RestoredVersion::Unknown(error_causes::chain(&error)))
            }
            Err(error) => Err(DeploymentError::Damaged {
                environment: environment.clone(),
                signature: signature.clone(),
                paths: named_paths(&damaged),
                source: Box::new(error),
            }),
        }
    }

    async fn layout_of_lock(
        &self,
        environment: &EnvironmentName,
        lock: &VersionLock,
    ) -> Result<VersionLayout, DeploymentError> {
        let found = Box::pin(self.find_live_source(environment, lock)).await?;
        let fixed =
            ResolvedControl::from_lock(&found, &lock.control).ok_or(DeploymentError::Internal)?;
        let (file, _) = Box::pin(self.environment_puppetfile(&found, &fixed)).await?;
        let (layout, _) = Box::pin(self.fetch_layout(&fixed, lock, &file)).await?;
        Ok(layout)
    }

    /// The files of the staging directory, if they are still those that were published.
    async fn staged_layout(
        &self,
        environment: &EnvironmentName,
        lock: &VersionLock,
    ) -> Result<VersionLayout, DeploymentError> {
        let staging = self.shared.settings.staging.as_ref();
        let staging = staging.ok_or(DeploymentError::NoStaging)?;
        let root = staging.join("environments").join(&lock.environment);
        let (content, lock) = (self.versions().content().clone(), lock.clone());
        let environment = environment.clone();
        run_blocking(move || {
            let manifest = staging::read(&content, &root)?;
            match staged_lock(&lock.environment, &manifest).control == lock.control {
                true => super::published_layout(&manifest, &lock),
                false => Err(DeploymentError::PublishedAnew(environment)),
            }
        })
        .await
    }
}
