//! Versions that are here already, compared with their hashes: [`Deployer::verify_once`].
//!
//! The rule that must hold: the first deployment of a version that a process finds looks at every file of it,
//! and puts damaged ones right; after that the version is trusted for the life of the process. So what a power
//! cut damaged does not outlive the next deployment, and a deployment of nothing new stays cheap.

use std::path::Path;
use std::sync::PoisonError;

use deploy::EnvironmentName;
use puppetfile::Puppetfile;

use super::{Built, Deployer, blocking};
use crate::defaults::{NAMED_DAMAGED_FILES, VERIFIED_VERSIONS};
use crate::error::DeployError;
use crate::resolve::Fixed;
use crate::version::{Layout, Signature, Versions};

// === impl Deployer ===

impl Deployer {
    /// Looks at the files of a version, if this process has not yet. Where its trees cannot be had, since
    /// their servers are away, the version stays as it is and is looked at by the next deployment.
    pub(super) async fn verify_once(
        &self,
        fixed: &Fixed,
        built: &mut Built,
        file: &Puppetfile,
    ) -> Result<(), DeployError> {
        let version = (built.environment.clone(), built.signature.clone());
        if self.is_verified(&version) {
            return Ok(());
        }
        let (layout, _) = match Box::pin(self.layout(fixed, &built.lock, file)).await {
            Ok(layout) => layout,
            Err(error) => {
                tracing::warn!(environment = %version.0, version = %version.1, %error,
                    "cannot look whether files of the version are damaged; the next deployment looks again");
                return Ok(());
            }
        };
        let (versions, more) = (self.versions().clone(), self.generate_types(&version.0));
        built.healed = blocking(move || heal(&versions, &version, &layout, more)).await?;
        self.note_verified(built);
        if let Some(note) = note(&built.healed) {
            built.was_there = false;
            built.notes.push(note);
        }
        Ok(())
    }

    fn is_verified(&self, version: &(EnvironmentName, Signature)) -> bool {
        let verified = self.shared.verified.lock();
        verified
            .unwrap_or_else(PoisonError::into_inner)
            .contains(version)
    }

    /// Remembers that the version is as it was built.
    pub(super) fn note_verified(&self, built: &Built) {
        let verified = self.shared.verified.lock();
        let mut verified = verified.unwrap_or_else(PoisonError::into_inner);
        if verified.len() >= VERIFIED_VERSIONS {
            verified.clear();
        }
        verified.insert((built.environment.clone(), built.signature.clone()));
    }
}

fn heal(
    versions: &Versions,
    (environment, signature): &(EnvironmentName, Signature),
    layout: &Layout,
    more: impl FnOnce(&Path) -> Result<(), DeployError>,
) -> Result<Vec<String>, DeployError> {
    let damaged = versions.damaged(environment, signature, layout);
    if damaged.is_empty() {
        return Ok(damaged);
    }
    for path in &damaged {
        tracing::error!(%environment, version = %signature, path, "a file of the version is damaged");
    }
    versions.heal(environment, signature, layout, more)?;
    tracing::warn!(%environment, version = %signature, files = damaged.len(), "damaged files were put right");
    Ok(damaged)
}

/// The note of a deployment that put damaged files right; `None`: there were none.
fn note(healed: &[String]) -> Option<String> {
    let named: Vec<&str> = healed
        .iter()
        .take(NAMED_DAMAGED_FILES)
        .map(String::as_str)
        .collect();
    let named = named.join(", ");
    match healed.len() {
        0 => None,
        count @ 1..=NAMED_DAMAGED_FILES => {
            Some(format!("{count} damaged files were put right: {named}"))
        }
        count => Some(format!(
            "{count} damaged files were put right: {named} and {} more",
            count - NAMED_DAMAGED_FILES
        )),
    }
}
