//! Getting a version: [`stage`].
//!
//! The rule that must hold: the version has its name only when every content of it was hashed here and is on
//! the disk.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use deploy::EnvironmentName;
use futures_util::{StreamExt as _, stream};

use super::remote::{Remote, RemoteError};
use crate::content::{
    Content, ContentError, ContentHash, Entry, Manifest, ManifestError, failed, sync,
};
use crate::defaults::{FILE_BYTES, FOLLOWER_FETCHES};
use crate::version::{Layout, LayoutError, Signature, VersionError, Versions};

/// Why a version cannot be got.
#[derive(Debug, thiserror::Error)]
pub(super) enum StageError {
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error("the list of its files is damaged: {0}")]
    Damaged(String),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error("something that cannot happen did (a bug; please report it)")]
    Broken,
}

/// Contents that are lacking, by hash and whether they can be run, with their sizes.
type Lacking = BTreeMap<(ContentHash, bool), u64>;

/// Brings a version here, beside what is live. One that is here is left as it is.
pub(super) async fn stage(
    remote: &Remote,
    versions: &Versions,
    environment: &EnvironmentName,
    signature: &Signature,
) -> Result<(), StageError> {
    if versions.has(environment, signature) {
        return Ok(());
    }
    let text = remote.manifest(environment, signature).await?;
    let content = versions.content().clone();
    let (manifest, lacking) = blocking(move || {
        let manifest = Manifest::decode(&text).map_err(|it| StageError::Damaged(it.to_string()))?;
        manifest.check()?;
        let lacking = lacking(&content, &manifest);
        Ok((manifest, lacking))
    })
    .await?;
    fetch(remote, versions.content(), lacking).await?;
    let (versions, environment) = (versions.clone(), environment.clone());
    let signature = signature.clone();
    blocking(move || {
        let layout = Layout::new(&manifest, &[])?;
        versions.build(&environment, &signature, &layout)?;
        Ok(())
    })
    .await
}

fn lacking(content: &Content, manifest: &Manifest) -> Lacking {
    let files = manifest.entries().filter_map(|(_, entry)| match entry {
        Entry::File {
            sha256,
            size_bytes,
            executable,
        } => Some(((*sha256, *executable), *size_bytes)),
        Entry::Link { .. } => None,
    });
    let is_lacking = |((sha256, executable), _): &((ContentHash, bool), u64)| {
        !content.object(*sha256, *executable).exists()
    };
    files.filter(is_lacking).collect()
}

async fn fetch(remote: &Remote, content: &Content, lacking: Lacking) -> Result<(), StageError> {
    if lacking.is_empty() {
        return Ok(());
    }
    if lacking.values().any(|size| *size > FILE_BYTES) {
        let why = format!("a file has more than {FILE_BYTES} bytes");
        return Err(StageError::Damaged(why));
    }
    let incoming = content.incoming();
    let staged = tempfile::Builder::new()
        .prefix("blobs-")
        .tempdir_in(&incoming)
        .map_err(failed("write to", &incoming))?;
    let named = |(blob, size_bytes): ((ContentHash, bool), u64)| {
        let (sha256, executable) = blob;
        let path = staged.path().join(format!("{sha256}-{executable}"));
        (path, blob, size_bytes)
    };
    let names: Vec<(PathBuf, (ContentHash, bool), u64)> = lacking.into_iter().map(named).collect();
    let fetches = names
        .clone()
        .into_iter()
        .map(|(path, (sha256, _), size_bytes)| {
            let remote = remote.clone();
            async move { remote.blob(sha256, size_bytes, &path).await }
        });
    let mut fetches = stream::iter(fetches).buffer_unordered(FOLLOWER_FETCHES);
    while let Some(fetched) = fetches.next().await {
        fetched?;
    }
    drop(fetches);
    let content = content.clone();
    blocking(move || {
        for (path, (_, executable), _) in &names {
            let mode = fs::Permissions::from_mode(Content::mode(*executable));
            fs::set_permissions(path, mode).map_err(failed("write to", path))?;
        }
        sync(staged.path())?;
        for (path, (sha256, executable), _) in &names {
            let object = content.object(*sha256, *executable);
            match fs::hard_link(path, &object) {
                // Another version brought the same content meanwhile.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed("write to", &object)(error).into());
                }
                _ => {}
            }
        }
        Ok(())
    })
    .await
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
