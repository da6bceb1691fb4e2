//! Verifies existing versions against their hashes: [`Deployer::verify_once`].
//!
//! Invariant: the first deployment by a process of a version that exists already compares every
//! file of it and replaces damaged ones; after that the version is trusted for the life of the
//! process. So damage by a power cut does not outlive the next deployment, and a deployment without
//! changes stays cheap.

use std::sync::PoisonError;

use environments::EnvironmentName;
use puppetfile::Puppetfile;

use super::{BuiltVersion, Deployer, run_blocking};
use crate::defaults::VERIFIED_VERSIONS;
use crate::error::DeploymentError;
use code_sources::resolve::ResolvedControl;
use code_store::integrity::named_paths;
use code_store::version::VersionSignature;

// === impl Deployer ===

impl Deployer {
    /// Compares the files of a version, unless this process has done so. If its trees cannot be
    /// fetched, since their servers are unreachable, the version stays as it is and the next
    /// deployment compares it.
    pub(super) async fn verify_once(
        &self,
        fixed: &ResolvedControl,
        built: &mut BuiltVersion,
        file: &Puppetfile,
    ) -> Result<(), DeploymentError> {
        let version = (built.environment.clone(), built.signature.clone());
        if self.is_verified(&version) {
            return Ok(());
        }
        let (layout, _) = match Box::pin(self.fetch_layout(fixed, &built.lock, file)).await {
            Ok(layout) => layout,
            Err(error) => {
                tracing::warn!(environment = %version.0, version = %version.1, %error,
                    "cannot look whether files of the version are damaged; the next deployment looks again");
                return Ok(());
            }
        };
        let (versions, more) = (
            self.versions().clone(),
            self.generate_types(&version.0, &built.lock),
        );
        built.healed =
            run_blocking(move || versions.repair_damaged(&version.0, &version.1, &layout, more))
                .await?;
        self.record_verified(&built.environment, &built.signature);
        if let Some(note) = note(&built.healed) {
            built.existed_before = false;
            built.notes.push(note);
        }
        Ok(())
    }

    pub(super) fn is_verified(&self, version: &(EnvironmentName, VersionSignature)) -> bool {
        let verified = self.shared.verified.lock();
        verified
            .unwrap_or_else(PoisonError::into_inner)
            .contains(version)
    }

    /// Records that the version is verified.
    pub(super) fn record_verified(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) {
        let verified = self.shared.verified.lock();
        let mut verified = verified.unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= VERIFIED_VERSIONS {
            verified.clear();
        }
        verified.insert((environment.clone(), signature.clone()));
    }
}

/// The note of a deployment that replaced damaged files; `None` if there were none.
pub(crate) fn note(healed: &[String]) -> Option<String> {
    let count = healed.len();
    (count > 0).then(|| {
        format!(
            "{count} damaged files were put right: {}",
            named_paths(healed)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use code_settings::DeploymentSettings;
    use code_sources::git::GitProgram;

    #[test]
    fn memory_of_verified_versions_is_cleared_when_it_is_full() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let settings = DeploymentSettings::new(root.join("deploys"), root.join("environments"));
        let deployer = Deployer::open(settings, GitProgram::default()).unwrap();
        let environment: EnvironmentName = "production".parse().unwrap();
        let signature = |number: usize| VersionSignature::of(&number.to_le_bytes());
        for number in 0..VERIFIED_VERSIONS {
            deployer.record_verified(&environment, &signature(number));
        }
        let is_verified = |number| deployer.is_verified(&(environment.clone(), signature(number)));
        assert!(is_verified(0) && is_verified(VERIFIED_VERSIONS - 1));
        deployer.record_verified(&environment, &signature(VERIFIED_VERSIONS));
        assert!(is_verified(VERIFIED_VERSIONS));
        assert!(!is_verified(0) && !is_verified(VERIFIED_VERSIONS - 1));
    }
}
