//! Getting a version: [`stage`].
//!
//! The rules that must hold: the version has its name only when every content of it was hashed here and is on
//! the disk; and one that is here already is compared with the server's list of files before it is relied on.

use std::collections::BTreeMap;
use std::path::Path;

use environments::EnvironmentName;
use futures_util::{StreamExt as _, stream};

use super::arriving::{Arriving, Wanted};
use super::fetch::{FetchError, fetch};
use super::remote::{Remote, RemoteError};
use crate::defaults::FOLLOWER_FETCHES;
use code_store::content::{Content, ContentError, ContentHash, Entry, Manifest, ManifestError};
use code_store::defaults::FILE_BYTES;
use code_store::version::{Layout, LayoutError, VersionError, VersionSignature, Versions};

/// Why a version cannot be got.
#[derive(Debug, thiserror::Error)]
pub(super) enum StageError {
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the list of its files is damaged: {0}")]
    Damaged(String),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error("something that cannot happen did (a bug; please report it)")]
    Broken,
}

/// Brings a version here, beside what is live. Files of one that is here and that are not as the server has them are
/// put right.
pub(super) async fn stage(
    remote: &Remote,
    arriving: &Arriving,
    versions: &Versions,
    (environment, signature): (&EnvironmentName, &VersionSignature),
) -> Result<(), StageError> {
    let text = remote.manifest(environment, signature).await?;
    let content = versions.content().clone();
    let (manifest, lacking) = blocking(move || {
        let manifest = Manifest::decode(&text).map_err(|it| StageError::Damaged(it.to_string()))?;
        manifest.check()?;
        let lacking = lacking(&content, &manifest);
        Ok((manifest, lacking))
    })
    .await?;
    bring(remote, arriving, lacking).await?;
    let (versions, environment) = (versions.clone(), environment.clone());
    let signature = signature.clone();
    blocking(move || {
        let layout = Layout::new(&manifest, &[])?;
        match versions.has(&environment, &signature) {
            true => {
                let more = |_: &Path| Ok::<(), VersionError>(());
                versions.heal_damaged(&environment, &signature, &layout, more)?;
            }
            false => drop(versions.build(&environment, &signature, &layout)?),
        }
        Ok(())
    })
    .await
}

/// What is not in the store, each once.
fn lacking(content: &Content, manifest: &Manifest) -> Vec<Wanted> {
    let files = manifest.entries().filter_map(|(_, entry)| match entry {
        Entry::File {
            sha256,
            size_bytes,
            executable,
        } => Some(((*sha256, *executable), *size_bytes)),
        Entry::Link { .. } => None,
    });
    let files: BTreeMap<(ContentHash, bool), u64> = files.collect();
    let files = files
        .into_iter()
        .map(|((sha256, executable), size_bytes)| Wanted {
            sha256,
            executable,
            size_bytes,
        });
    files
        .filter(|it| !content.has(it.sha256, it.executable, it.size_bytes))
        .collect()
}

async fn bring(
    remote: &Remote,
    arriving: &Arriving,
    lacking: Vec<Wanted>,
) -> Result<(), StageError> {
    if lacking.is_empty() {
        return Ok(());
    }
    if lacking.iter().any(|it| it.size_bytes > FILE_BYTES) {
        let why = format!("a file has more than {FILE_BYTES} bytes");
        return Err(StageError::Damaged(why));
    }
    let (place, all) = (arriving.clone(), lacking.clone());
    let awaited = blocking(move || Ok(place.wait_for(&all)?)).await?;
    let fetches = lacking
        .clone()
        .into_iter()
        .map(|wanted| async move { fetch(remote, arriving, &wanted).await });
    let mut fetches = stream::iter(fetches).buffer_unordered(FOLLOWER_FETCHES);
    while let Some(fetched) = fetches.next().await {
        if let Err(error) = fetched {
            drop(fetches);
            if error.is_full() {
                arriving.give_up(&awaited);
            }
            return Err(error.into());
        }
    }
    drop(fetches);
    let arriving = arriving.clone();
    blocking(move || Ok(arriving.keep(&lacking)?)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StageError> + Send + 'static,
) -> Result<T, StageError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(StageError::Broken))
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
