//! Verification of the whole code store on demand: [`CodeManager::verify`].
//!
//! Invariants: one verification reads the store at a time, and ends when its caller is gone or the
//! server stops; damaged versions are replaced by deployments, so each repair is in the history and
//! waits for other deployments of its environment.

use std::sync::Arc;

use environments::EnvironmentName;

use super::deployment_record::{DeploymentAction, DeploymentRequester};
use super::error::{DeploymentSubmitError, VerifyError};
use super::manager::CodeManager;
use code_store::integrity::{StoreVerification, VersionRepair};
use code_store::version::VersionSignature;

// === impl CodeManager ===

impl CodeManager {
    /// Compares the code store with its hashes; with `repair`, replaces damaged contents and
    /// versions.
    pub async fn verify(
        &self,
        repair: bool,
        by: DeploymentRequester,
    ) -> Result<StoreVerification, VerifyError> {
        let cut = self.inner.stop.child_token();
        // Stops the verification when the caller is gone.
        let _cut = cut.clone().drop_guard();
        let _one = Arc::clone(&self.inner.verifying).lock_owned().await;
        let deployer = self.inner.tools.current.last_valid();
        let check = deployer.check_store(cut).await?;
        let mut verification = StoreVerification {
            check,
            ..StoreVerification::default()
        };
        if !repair {
            return Ok(verification);
        }
        deployer.discard_contents(&verification.check).await?;
        let versions = verification.check.damaged_or_unknown();
        let repair = |(environment, signature): &(EnvironmentName, VersionSignature)| {
            let signature = signature.clone();
            (environment.clone(), DeploymentAction::Repair { signature })
        };
        let wanted = versions.iter().map(repair).collect();
        let submitted = self.submit(wanted, by).await?;
        for (version, end) in versions.into_iter().zip(submitted.ends) {
            let ended = end.await.map_err(|_| DeploymentSubmitError::Stopping)?;
            let error = ended.outcome.and_then(|outcome| outcome.error);
            let repair = VersionRepair {
                deployment: Some(ended.id),
                error: error.map(|error| error.msg),
            };
            verification.repairs.insert(version, repair);
        }
        Ok(verification)
    }
}
