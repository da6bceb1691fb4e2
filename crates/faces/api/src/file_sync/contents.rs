//! `GET manifests/…` and `GET blobs/sha256/…`: the content of versions.
//!
//! Invariant: an object with a name here never changes, so a client that has it need not request it
//! again.

use std::io::SeekFrom;

use api_types::{ApiError, kinds};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use code_store::content::ContentHash;
use code_store::version::VersionSignature;
use file_sync::ServedBlob;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use super::{check_in_error, require_file_sync};
use crate::SharedApiContext;
use crate::code_manager::environment;
use crate::defaults::BLOB_CHUNK_BYTES;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

/// One year, the longest time that caches accept.
const IMMUTABLE: &str = "private, max-age=31536000, immutable";
const BYTES: &str = "application/octet-stream";

pub(crate) async fn manifest(
    State(api): State<SharedApiContext>,
    PathVariables((name, version)): PathVariables<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, ApiFailure> {
    let environment = environment("environment", &name)?;
    let version: VersionSignature = version
        .parse()
        .map_err(|error| ApiError::invalid("version", error))?;
    let found = require_file_sync(&api)?
        .manifest(&environment, &version)
        .await;
    let Some((id, text)) = found.map_err(check_in_error)? else {
        let msg = format!("the version {version} of {environment} is neither live nor about to be");
        return Err(ApiError::new(kinds::UNKNOWN_VERSION, msg).into());
    };
    let etag = format!("\"{id}\"");
    if matches_etag(&headers, &etag) {
        return Ok(not_modified_response(etag));
    }
    let headers = [
        (header::CONTENT_TYPE, BYTES.to_owned()),
        (header::CACHE_CONTROL, IMMUTABLE.to_owned()),
        (header::ETAG, etag),
    ];
    Ok((headers, text).into_response())
}

pub(crate) async fn blob(
    State(api): State<SharedApiContext>,
    PathVariables(hash): PathVariables<String>,
    headers: HeaderMap,
) -> Result<Response, ApiFailure> {
    let hash: ContentHash = hash.parse().map_err(|()| {
        ApiError::invalid("hash", "a SHA-256 has 64 lower-case hexadecimal digits")
    })?;
    let found = require_file_sync(&api)?
        .open_blob(hash)
        .await
        .map_err(check_in_error)?;
    let Some(ServedBlob { file, size_bytes }) = found else {
        let msg = format!("no version that is live or about to be has the content {hash}");
        return Err(ApiError::new(kinds::UNKNOWN_CONTENT, msg).into());
    };
    let etag = format!("\"{hash}\"");
    if matches_etag(&headers, &etag) {
        return Ok(not_modified_response(etag));
    }
    let range = match requested_range(&headers, size_bytes, &etag) {
        Ok(range) => range,
        Err(UnsatisfiableRange) => return Ok(unsatisfiable(size_bytes)),
    };
    let (first, count) = range.unwrap_or((0, size_bytes));
    let mut file = tokio::fs::File::from_std(file);
    let sought = file.seek(SeekFrom::Start(first)).await;
    sought.map_err(|error| ApiFailure::internal("read a content", &error))?;
    let content = ReaderStream::with_capacity(file.take(count), BLOB_CHUNK_BYTES);
    let mut response = Response::new(Body::from_stream(content));
    let mut told = vec![
        (header::CONTENT_TYPE, BYTES.to_owned()),
        (header::CONTENT_LENGTH, count.to_string()),
        (header::ACCEPT_RANGES, "bytes".to_owned()),
        (header::CACHE_CONTROL, IMMUTABLE.to_owned()),
        (header::ETAG, etag),
    ];
    if range.is_some() {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let last = first + count - 1;
        told.push((
            header::CONTENT_RANGE,
            format!("bytes {first}-{last}/{size_bytes}"),
        ));
    }
    for (name, value) in told {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(response)
}

fn not_modified_response(etag: String) -> Response {
    let headers = [
        (header::CACHE_CONTROL, IMMUTABLE.to_owned()),
        (header::ETAG, etag),
    ];
    (StatusCode::NOT_MODIFIED, headers).into_response()
}

fn unsatisfiable(size_bytes: u64) -> Response {
    let msg = format!("the content has {size_bytes} bytes");
    let error = ApiError::new(kinds::RANGE, msg).with("size_bytes", json!(size_bytes));
    let headers = [(header::CONTENT_RANGE, format!("bytes */{size_bytes}"))];
    (headers, ApiFailure::from(error)).into_response()
}

fn matches_etag(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut known = known.filter_map(|value| value.to_str().ok());
    known.any(|known| known.split(',').any(|it| [etag, "*"].contains(&it.trim())))
}

/// The error for a range outside of the content.
#[derive(Debug, PartialEq, Eq)]
struct UnsatisfiableRange;

/// The requested part: offset and length. Several ranges or an invalid one are answered with the
/// whole content, as RFC 9110 allows.
fn requested_range(
    headers: &HeaderMap,
    size_bytes: u64,
    etag: &str,
) -> Result<Option<(u64, u64)>, UnsatisfiableRange> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::IF_RANGE).is_some_and(|known| known != etag) {
        return Ok(None);
    }
    let parts = text(header::RANGE).and_then(|it| it.strip_prefix("bytes=")?.split_once('-'));
    let Some((first, last)) = parts else {
        return Ok(None);
    };
    let (first, last) = match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => (first, last),
        (Ok(first), Err(_)) if last.is_empty() => (first, u64::MAX),
        (Err(_), Ok(0)) if first.is_empty() => return Err(UnsatisfiableRange),
        (Err(_), Ok(count)) if first.is_empty() => (size_bytes.saturating_sub(count), u64::MAX),
        _ => return Ok(None),
    };
    if first >= size_bytes {
        return Err(UnsatisfiableRange);
    }
    let last = last.min(size_bytes - 1);
    Ok(Some((first, last - first + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_http_has_them() {
        let of = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::RANGE, text.parse().unwrap());
            requested_range(&headers, 10, "\"e\"")
        };
        for (text, expected) in [
            ("bytes=0-9", Ok(Some((0, 10)))),
            ("bytes=2-3", Ok(Some((2, 2)))),
            ("bytes=7-", Ok(Some((7, 3)))),
            ("bytes=7-100", Ok(Some((7, 3)))),
            ("bytes=-3", Ok(Some((7, 3)))),
            ("bytes=-30", Ok(Some((0, 10)))),
            ("bytes=10-", Err(UnsatisfiableRange)),
            ("bytes=-0", Err(UnsatisfiableRange)),
            ("bytes=3-2", Ok(None)),
            ("bytes=0-1,3-4", Ok(None)),
            ("bytes=99999999999999999999-", Ok(None)),
            ("lines=0-1", Ok(None)),
            ("bytes=a-b", Ok(None)),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
