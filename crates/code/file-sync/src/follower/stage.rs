//! Staging of a version: [`stage`].
//!
//! Invariants: a version gets its name only when every content was hashed here and is on the disk;
//! and a version that exists already is compared with the server's list of files before it is used.

use std::collections::BTreeMap;
use std::path::Path;

use environments::EnvironmentName;
use futures_util::{StreamExt as _, stream};

use super::fetch::{ContentFetchError, fetch};
use super::incoming_contents::{IncomingContents, MissingContent};
use super::remote::{RemoteServer, RemoteServerError};
use crate::defaults::FOLLOWER_FETCHES;
use code_store::content::{
    ContentError, ContentHash, ContentStore, ManifestError, TreeEntry, TreeManifest,
};
use code_store::defaults::FILE_BYTES;
use code_store::version::{
    LayoutError, VersionError, VersionLayout, VersionSignature, VersionStore,
};

/// Cause for which a version cannot be staged.
#[derive(Debug, thiserror::Error)]
pub(super) enum StageError {
    #[error(transparent)]
    Remote(#[from] RemoteServerError),
    #[error(transparent)]
    Fetch(#[from] ContentFetchError),
    #[error("the list of its files is damaged: {0}")]
    Damaged(String),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error("something that cannot happen did (a bug; please report it)")]
    Internal,
}

/// Builds a version beside the live one. If it exists already, files that differ from the server's
/// list are repaired.
pub(super) async fn stage(
    remote: &RemoteServer,
    arriving: &IncomingContents,
    versions: &VersionStore,
    (environment, signature): (&EnvironmentName, &VersionSignature),
) -> Result<(), StageError> {
    let text = remote.manifest(environment, signature).await?;
    let content = versions.content().clone();
    let (manifest, lacking) = run_blocking(move || {
        let manifest =
            TreeManifest::decode(&text).map_err(|it| StageError::Damaged(it.to_string()))?;
        manifest.check_paths()?;
        let lacking = missing_contents(&content, &manifest);
        Ok((manifest, lacking))
    })
    .await?;
    fetch_contents(remote, arriving, lacking).await?;
    let (versions, environment) = (versions.clone(), environment.clone());
    let signature = signature.clone();
    run_blocking(move || {
        let layout = VersionLayout::new(&manifest, &[])?;
        match versions.has(&environment, &signature) {
            true => {
                let more = |_: &Path| Ok::<(), VersionError>(());
                versions.repair_damaged(&environment, &signature, &layout, more)?;
            }
            false => drop(versions.build(&environment, &signature, &layout)?),
        }
        Ok(())
    })
    .await
}

/// The contents that the store lacks, each once.
fn missing_contents(content: &ContentStore, manifest: &TreeManifest) -> Vec<MissingContent> {
    let files = manifest.entries().filter_map(|(_, entry)| match entry {
        TreeEntry::File {
            sha256,
            size_bytes,
            executable,
        } => Some(((*sha256, *executable), *size_bytes)),
        TreeEntry::Link { .. } => None,
    });
    let files: BTreeMap<(ContentHash, bool), u64> = files.collect();
    let files = files
        .into_iter()
        .map(|((sha256, executable), size_bytes)| MissingContent {
            sha256,
            executable,
            size_bytes,
        });
    files
        .filter(|it| !content.has_intact(it.sha256, it.executable, it.size_bytes))
        .collect()
}

async fn fetch_contents(
    remote: &RemoteServer,
    arriving: &IncomingContents,
    lacking: Vec<MissingContent>,
) -> Result<(), StageError> {
    if lacking.is_empty() {
        return Ok(());
    }
    if lacking.iter().any(|it| it.size_bytes > FILE_BYTES) {
        let why = format!("a file has more than {FILE_BYTES} bytes");
        return Err(StageError::Damaged(why));
    }
    let (place, all) = (arriving.clone(), lacking.clone());
    let awaited = run_blocking(move || Ok(place.await_contents(&all)?)).await?;
    let fetches = lacking
        .clone()
        .into_iter()
        .map(|wanted| async move { fetch(remote, arriving, &wanted).await });
    let mut fetches = stream::iter(fetches).buffer_unordered(FOLLOWER_FETCHES);
    while let Some(fetched) = fetches.next().await {
        if let Err(error) = fetched {
            drop(fetches);
            if error.is_full() {
                arriving.stop_waiting(&awaited);
            }
            return Err(error.into());
        }
    }
    drop(fetches);
    let arriving = arriving.clone();
    run_blocking(move || Ok(arriving.move_into_store(&lacking)?)).await
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StageError> + Send + 'static,
) -> Result<T, StageError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(StageError::Internal))
}

impl From<ManifestError> for StageError {
    fn from(error: ManifestError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<LayoutError> for StageError {
    fn from(error: LayoutError) -> Self {
        Self::Damaged(error.to_string())
    }
}
