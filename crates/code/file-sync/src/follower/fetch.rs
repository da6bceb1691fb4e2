//! Getting a content: [`fetch`].
//!
//! The rules that must hold: what is here is not asked for again, unless the server has something else or the
//! whole has another hash; and every way round ends.

use super::arriving::{Arriving, Wanted};
use super::part::Part;
use super::remote::{Remote, RemoteError};
use crate::defaults::FOLLOWER_RESUMES;
use code_store::content::ContentError;

/// Why a content cannot be got.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// Brings a content here; it is whole after it and has its hash.
pub(super) async fn fetch(
    remote: &Remote,
    arriving: &Arriving,
    wanted: &Wanted,
) -> Result<(), FetchError> {
    let _writing = arriving.writing(wanted).await;
    let object = arriving.content().object(wanted.sha256, wanted.executable);
    if object.exists() {
        return Ok(());
    }
    let mut resumes = 0;
    loop {
        let mut part = arriving.part(wanted).await?;
        let filled = fill(remote, wanted, &mut part).await;
        // Also of what broke off.
        part.flush().await?;
        match filled {
            Ok(()) => {}
            Err(FetchError::Remote(RemoteError::OtherPart { url, why })) => {
                tracing::warn!(%url, why, "no more of this content can be had; it is begun anew");
                part.empty().await?;
                continue;
            }
            Err(FetchError::Remote(error))
                if error.is_break()
                    && part.size_bytes > part.kept_bytes
                    && resumes < FOLLOWER_RESUMES =>
            {
                let (has, of) = (part.size_bytes, wanted.size_bytes);
                tracing::info!(content = %wanted.sha256, has, of, %error, "going on where it broke off");
                resumes += 1;
                continue;
            }
            Err(error) => return Err(error),
        }
        let came = part.hash().await?;
        if came == wanted.sha256 {
            return Ok(());
        }
        let had = part.kept_bytes;
        part.empty().await?;
        if had == 0 {
            return Err(RemoteError::Forged {
                wanted: wanted.sha256,
                came,
            }
            .into());
        }
        tracing::warn!(content = %wanted.sha256, had, "what was here of it was damaged; it is begun anew");
    }
}

/// Gets what is lacking.
async fn fill(remote: &Remote, wanted: &Wanted, part: &mut Part) -> Result<(), FetchError> {
    if part.is_whole() {
        return Ok(());
    }
    let has = part.size_bytes;
    let mut coming = remote.blob(wanted.sha256, has, wanted.size_bytes).await?;
    if coming.first != has {
        part.empty().await?;
    }
    while let Some(chunk) = remote.next(&mut coming).await? {
        if !part.add(chunk.as_ref()).await? {
            part.empty().await?;
            return Err(coming.too_much(wanted.size_bytes).into());
        }
    }
    match part.is_whole() {
        true => Ok(()),
        false => Err(coming.too_little(part.size_bytes, wanted.size_bytes).into()),
    }
}

// === impl FetchError ===

impl FetchError {
    /// Whether there is no room on the disk.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Content(error) if error.is_full())
    }
}

#[cfg(test)]
mod tests;
