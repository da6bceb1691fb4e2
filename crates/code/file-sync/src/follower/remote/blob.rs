//! Download of contents: a whole content, or the missing rest.
//!
//! Invariant: bytes are appended only if the server declared that they follow those already here,
//! in the same content.

use reqwest::{Response, StatusCode, Url, header};

use super::{RemoteServer, RemoteServerError};
use code_store::content::ContentHash;

/// A content that is being downloaded.
#[derive(Debug)]
pub(in crate::follower) struct BlobDownload {
    url: Url,
    response: Response,
    /// Offset of the first byte of the answer.
    pub(in crate::follower) first: u64,
}

// === impl RemoteServer ===

impl RemoteServer {
    /// Requests a content of which the first `has` bytes are here. The server may send it from its
    /// beginning all the same.
    pub(in crate::follower) async fn request_blob(
        &self,
        hash: ContentHash,
        has: u64,
        whole_bytes: u64,
    ) -> Result<BlobDownload, RemoteServerError> {
        let url = self.url(&format!("/file-sync/v1/blobs/sha256/{hash}"));
        let mut request = self.client().await?.get(url.clone());
        let etag = format!("\"{hash}\"");
        if has > 0 {
            // `If-Range`: a server with a different content sends all of it.
            let range = format!("bytes={has}-");
            request = request
                .header(header::RANGE, range)
                .header(header::IF_RANGE, &etag);
        }
        let answer = request.send().await;
        let status = answer.as_ref().ok().map(Response::status);
        let (answer, first) = match (status, answer) {
            (Some(StatusCode::RANGE_NOT_SATISFIABLE), _) if has > 0 => {
                let why = "it has no more than what is here".to_owned();
                return Err(RemoteServerError::OtherPart { url, why });
            }
            (Some(StatusCode::PARTIAL_CONTENT), Ok(answer)) if has > 0 => {
                if let Err(why) = check_continues(&answer, &etag, has, whole_bytes) {
                    return Err(RemoteServerError::OtherPart { url, why });
                }
                (answer, has)
            }
            (_, answer) => (self.send_checked(&url, answer).await?, 0),
        };
        Ok(BlobDownload {
            url,
            response: answer,
            first,
        })
    }

    /// The next bytes; `None` at the end.
    pub(in crate::follower) async fn next_chunk(
        &self,
        coming: &mut BlobDownload,
    ) -> Result<Option<impl AsRef<[u8]> + use<>>, RemoteServerError> {
        self.read_chunk(&coming.url, &mut coming.response).await
    }
}

/// Checks that an answer continues the content at the byte `has`; the error is the cause for which
/// it does not.
fn check_continues(
    answer: &Response,
    etag: &str,
    has: u64,
    whole_bytes: u64,
) -> Result<(), String> {
    let said = |name| {
        let value = answer.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()))
    };
    let expected = format!(
        "bytes {has}-{}/{whole_bytes}",
        whole_bytes.saturating_sub(1)
    );
    let range = said(header::CONTENT_RANGE).unwrap_or_default();
    if range != expected {
        return Err(format!("it says {range:?} and not {expected:?}"));
    }
    match said(header::ETAG) {
        Some(said) if said != etag => Err(format!("it is of {said}")),
        _ => Ok(()),
    }
}

// === impl BlobDownload ===

impl BlobDownload {
    pub(in crate::follower) fn too_long_error(self, whole_bytes: u64) -> RemoteServerError {
        RemoteServerError::Unexpected {
            url: self.url,
            why: format!("more than {whole_bytes} bytes"),
        }
    }

    pub(in crate::follower) fn too_short_error(self, has: u64, of: u64) -> RemoteServerError {
        RemoteServerError::Short {
            url: self.url,
            has,
            of,
        }
    }
}
