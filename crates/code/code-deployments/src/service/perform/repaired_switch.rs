//! Repairs existing versions, before they become live or on their own.
//!
//! Invariant: no version with files that are known to be damaged becomes live.

use super::{
    DeploymentTools, DeploymentWork, PerformError, WorkOutcome, describe_version, pause_compiles,
    switch,
};
use crate::deployer::{RestoredVersion, healed_note};
use code_store::version::VersionSignature;

/// Repairs an existing version and then makes it live.
pub(super) async fn repair_and_switch(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    signature: &VersionSignature,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    let restored = Box::pin(tools.deployer.restore_once(&work.environment, signature)).await?;
    let note = match &restored {
        RestoredVersion::Whole(healed) => healed_note(healed),
        RestoredVersion::Unknown(why) => Some(format!("its files were not compared: {why}")),
    };
    performed.is_healed = matches!(&restored, RestoredVersion::Whole(healed) if !healed.is_empty());
    performed.outcome.notes.extend(note);
    switch(tools, work, signature, performed).await
}

/// Repairs a version. If it is live, programs that cache its parsed code flush their caches.
pub(super) async fn repair(
    tools: &DeploymentTools,
    work: &DeploymentWork,
    signature: &VersionSignature,
    performed: &mut WorkOutcome,
) -> Result<(), PerformError> {
    let live = performed.before.clone();
    if let Some(live) = &live {
        describe_version(tools, work, live, performed);
    }
    let is_live = live.as_ref() == Some(signature);
    if is_live {
        pause_compiles(tools, performed).await;
    }
    let healed = Box::pin(tools.deployer.restore(&work.environment, signature)).await?;
    performed.is_healed = is_live && !healed.is_empty();
    let note = healed_note(&healed).unwrap_or_else(|| "no file of it was damaged".to_owned());
    let note = format!("version {signature}: {note}");
    performed.outcome.notes.push(note);
    Ok(())
}
