//! Fetching of a content: [`fetch`].
//!
//! Invariants: bytes that are already here are not requested again, unless the server has a
//! different content or the whole has the wrong hash; and every loop ends.

use super::incoming_contents::{IncomingContents, MissingContent};
use super::partial_content::PartialContent;
use super::remote::{RemoteServer, RemoteServerError};
use crate::defaults::FOLLOWER_RESUMES;
use code_store::content::ContentError;

/// Cause for which a content cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum ContentFetchError {
    #[error(transparent)]
    Remote(#[from] RemoteServerError),
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// Fetches a content; afterwards it is complete and has its hash.
pub(super) async fn fetch(
    remote: &RemoteServer,
    arriving: &IncomingContents,
    wanted: &MissingContent,
) -> Result<(), ContentFetchError> {
    let _writing = arriving.lock_for_writing(wanted).await;
    let object = arriving
        .content()
        .object_path(wanted.sha256, wanted.executable);
    if object.exists() {
        return Ok(());
    }
    let mut resumes = 0;
    loop {
        let mut part = arriving.open_partial(wanted).await?;
        let filled = download_rest(remote, wanted, &mut part).await;
        // Also when the download broke off, so that it can be resumed.
        part.flush().await?;
        match filled {
            Ok(()) => {}
            Err(ContentFetchError::Remote(RemoteServerError::OtherPart { url, why })) => {
                tracing::warn!(%url, why, "no more of this content can be had; it is begun anew");
                part.truncate().await?;
                continue;
            }
            Err(ContentFetchError::Remote(error))
                if error.is_connection_lost()
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
        part.truncate().await?;
        if had == 0 {
            return Err(RemoteServerError::Forged {
                wanted: wanted.sha256,
                came,
            }
            .into());
        }
        tracing::warn!(content = %wanted.sha256, had, "what was here of it was damaged; it is begun anew");
    }
}

/// Requests the missing bytes of a content.
async fn download_rest(
    remote: &RemoteServer,
    wanted: &MissingContent,
    part: &mut PartialContent,
) -> Result<(), ContentFetchError> {
    if part.is_complete() {
        return Ok(());
    }
    let has = part.size_bytes;
    let mut coming = remote
        .request_blob(wanted.sha256, has, wanted.size_bytes)
        .await?;
    if coming.first != has {
        part.truncate().await?;
    }
    while let Some(chunk) = remote.next_chunk(&mut coming).await? {
        if !part.append(chunk.as_ref()).await? {
            part.truncate().await?;
            return Err(coming.too_long_error(wanted.size_bytes).into());
        }
    }
    match part.is_complete() {
        true => Ok(()),
        false => Err(coming
            .too_short_error(part.size_bytes, wanted.size_bytes)
            .into()),
    }
}

// === impl ContentFetchError ===

impl ContentFetchError {
    /// True if the disk is full.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Content(error) if error.is_disk_full())
    }
}

#[cfg(test)]
mod tests;
