//! Versions on the disk: listed, compared and pinned. Main type: [`StoredVersion`].

use environments::EnvironmentName;
use store::{CodePinRow, StoreError, now_ms};

use super::blocking::run_blocking;
use super::deployment_record::{DeploymentRequester, truncate};
use super::error::DeploymentSubmitError;
use super::manager::CodeManager;
use crate::defaults::REASON_BYTES;
use code_store::diff::{FileChanges, ModuleChanges};
use code_store::version::{VersionSignature, VersionStore};
use code_store::version_lock::VersionLock;

/// A version of an environment that is on the disk.
#[derive(Clone, Debug)]
pub struct StoredVersion {
    /// Environment that the version is of.
    pub environment: EnvironmentName,
    /// Signature of the version.
    pub signature: VersionSignature,
    /// True if the version is live.
    pub is_live: bool,
    /// Commits and releases in the version; `None` if its lock cannot be read.
    pub lock: Option<VersionLock>,
}

impl CodeManager {
    /// The versions on the disk, by environment.
    pub async fn stored_versions(&self) -> Result<Vec<StoredVersion>, DeploymentSubmitError> {
        let versions = self.versions().clone();
        run_blocking(move || {
            let all = versions
                .all_versions()?
                .into_iter()
                .map(|(environment, signature)| StoredVersion {
                    is_live: versions.live_version(&environment).as_ref() == Some(&signature),
                    lock: versions.read_lock(&environment, &signature),
                    environment,
                    signature,
                });
            Ok(all.collect())
        })
        .await
    }

    /// The only version of an environment whose signature begins with these digits.
    pub async fn find_version(
        &self,
        environment: &EnvironmentName,
        digits: &str,
    ) -> Result<VersionSignature, DeploymentSubmitError> {
        let versions = self.versions().clone();
        let (environment, digits) = (environment.clone(), digits.to_owned());
        run_blocking(move || {
            let mut fitting: Vec<VersionSignature> = versions
                .all_versions()?
                .into_iter()
                .filter(|(of, signature)| {
                    *of == environment && signature.as_str().starts_with(&digits)
                })
                .map(|(_, signature)| signature)
                .collect();
            match (fitting.pop(), fitting.len()) {
                (Some(signature), 0) => Ok(signature),
                (None, _) => Err(DeploymentSubmitError::NoVersion(format!(
                    "no version of {environment} begins with {digits:?}"
                ))),
                (Some(_), others) => Err(DeploymentSubmitError::NoVersion(format!(
                    "{} versions of {environment} begin with {digits:?}; name more digits",
                    others + 1
                ))),
            }
        })
        .await
    }

    /// The differences between two versions, by module and by file.
    pub async fn diff(
        &self,
        from: (EnvironmentName, VersionSignature),
        to: (EnvironmentName, VersionSignature),
    ) -> Result<(ModuleChanges, FileChanges), DeploymentSubmitError> {
        let versions = self.versions().clone();
        run_blocking(move || {
            let lock = |(environment, signature): &(EnvironmentName, VersionSignature)| {
                versions.read_lock(environment, signature).ok_or_else(|| {
                    DeploymentSubmitError::NoVersion(format!(
                        "there is no version {signature} of {environment}"
                    ))
                })
            };
            let changes = ModuleChanges::between_locks(Some(&lock(&from)?), &lock(&to)?);
            let path = |(environment, signature): &(EnvironmentName, VersionSignature)| {
                versions.path(environment, signature)
            };
            Ok((
                changes,
                FileChanges::between_directories(&path(&from), &path(&to))?,
            ))
        })
        .await
    }

    /// Pins the environment to its live version.
    pub async fn pin(
        &self,
        environment: &EnvironmentName,
        by: DeploymentRequester,
    ) -> Result<CodePinRow, DeploymentSubmitError> {
        let live = self.versions().live_version(environment);
        let signature = live.ok_or_else(|| {
            DeploymentSubmitError::NoVersion(format!("no version of {environment} is live"))
        })?;
        let pin = CodePinRow {
            environment: environment.to_string(),
            signature: signature.to_string(),
            owner: by.owner,
            reason: truncate(&by.reason, REASON_BYTES).to_owned(),
            pinned_ms: now_ms(),
        };
        self.inner.tools.store.pin_code(&pin).await?;
        Ok(pin)
    }

    /// Unpins the environment. Returns `false` if it was not pinned.
    pub async fn unpin(&self, environment: &EnvironmentName) -> Result<bool, StoreError> {
        self.inner
            .tools
            .store
            .unpin_code(environment.as_str())
            .await
    }

    /// The environments that are pinned to a version.
    pub async fn pins(&self) -> Result<Vec<CodePinRow>, StoreError> {
        self.inner.tools.store.code_pins().await
    }

    /// The versions on the disk.
    pub fn versions(&self) -> &VersionStore {
        self.inner.tools.deployer.versions()
    }
}
