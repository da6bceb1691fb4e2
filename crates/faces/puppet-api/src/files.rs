//! `GET /puppet/v3/file_content/{mount}/{*path}`: files of tasks and modules.
//!
//! With `sha256=…` the content of that hash is served, even if the environment has changed: a job's
//! task files stay as they were when it was created. Without it, `environment=…` names the
//! environment.
//!
//! Only holders of a verified client certificate may read. Contents are streamed from the disk and
//! have their hash as ETag.

use std::fs::File;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use environments::{BlobStore, CodeError, CodeFile, EnvironmentName, Sha256};
use tokio::io::AsyncReadExt as _;
use tokio_util::io::ReaderStream;

use crate::defaults::{FILE_CHUNK_BYTES, FILE_READ_WAIT};
use crate::failure::PuppetApiFailure;
use crate::file_mounts::FileMounts;
use crate::node_code::NodeCode;
use crate::node_shares::NodeShares;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;
use crate::requested_file::RequestedFile;

#[derive(Clone)]
struct PuppetFileServer {
    code: NodeCode,
    blobs: BlobStore,
    mounts: FileMounts,
    turns: NodeShares,
}

/// A parsed request.
enum FileRequest {
    Content(Sha256),
    File {
        environment: EnvironmentName,
        file: RequestedFile,
    },
}

/// Content to send.
pub(crate) struct FoundFile {
    sha256: Sha256,
    size_bytes: u64,
    content: File,
}

pub(crate) fn router(
    code: NodeCode,
    blobs: BlobStore,
    mounts: FileMounts,
    turns: NodeShares,
) -> Router {
    Router::new()
        .route("/puppet/v3/file_content/{mount}/{*path}", get(fetch))
        .with_state(PuppetFileServer {
            code,
            blobs,
            mounts,
            turns,
        })
}

async fn fetch(
    State(files): State<PuppetFileServer>,
    Path((mount, path)): Path<(String, String)>,
    caller: PuppetApiCaller,
    params: QueryParams,
    headers: HeaderMap,
) -> Result<Response, PuppetApiFailure> {
    let certname = caller.require_certname()?.to_owned();
    let wanted = FileRequest::parse(&mount, &path, (&files.mounts, &certname), &params)?;
    // for hashing the file; sending it takes no thread
    let _turn = files.turns.turn_within(&certname, FILE_READ_WAIT).await?;
    let found = tokio::task::spawn_blocking(move || files.find_content(&certname, &wanted))
        .await
        .map_err(|panic| PuppetApiFailure::internal(&panic))??;
    Ok(found.respond(&headers))
}

impl FileRequest {
    fn parse(
        mount: &str,
        path: &str,
        mounts: (&FileMounts, &str),
        params: &QueryParams,
    ) -> Result<Self, PuppetApiFailure> {
        let file = RequestedFile::parse(mount, path, mounts)?;
        if let Some(sha256) = params.get("sha256")? {
            let sha256 = sha256.parse().map_err(|_| {
                PuppetApiFailure::bad_request("sha256 must be 64 hexadecimal digits")
            })?;
            return Ok(Self::Content(sha256));
        }
        Ok(Self::File {
            environment: params.environment()?,
            file,
        })
    }
}

impl PuppetFileServer {
    fn find_content(
        &self,
        certname: &str,
        wanted: &FileRequest,
    ) -> Result<FoundFile, PuppetApiFailure> {
        match wanted {
            FileRequest::Content(sha256) => match self.blobs.open_blob(sha256) {
                Ok(Some(blob)) => Ok(FoundFile {
                    sha256: *sha256,
                    size_bytes: blob.size_bytes,
                    content: blob.content,
                }),
                Ok(None) => Err(PuppetApiFailure::not_found(format!(
                    "no content {sha256} is kept"
                ))),
                Err(error) => Err(PuppetApiFailure::internal(&error)),
            },
            FileRequest::File { environment, file } => {
                let source = file.source(&self.code, certname, environment);
                let found = source.and_then(|source| source.open(&file.path));
                Ok(found.map_err(code_failure)?.into())
            }
        }
    }
}

/// Converts an error of reading code. A link out of the module looks like a missing file, so that
/// nothing outside is revealed.
pub(crate) fn code_failure(error: CodeError) -> PuppetApiFailure {
    match &error {
        CodeError::InvalidPath { .. } => PuppetApiFailure::bad_request(error.to_string()),
        CodeError::Refused { .. } => {
            tracing::warn!(%error, "a file is not served");
            PuppetApiFailure::not_found("there is no such file")
        }
        _ if error.is_not_found() => PuppetApiFailure::not_found(missing_file_message(&error)),
        _ => PuppetApiFailure::internal(&error),
    }
}

/// The message without the paths of this host, which the errors name.
fn missing_file_message(error: &CodeError) -> String {
    match error {
        CodeError::UnknownEnvironment { environment, .. } => {
            format!("there is no environment {environment}")
        }
        other => other.to_string(),
    }
}

impl From<CodeFile> for FoundFile {
    fn from(file: CodeFile) -> Self {
        Self {
            sha256: file.sha256,
            size_bytes: file.size_bytes,
            content: file.content,
        }
    }
}

impl FoundFile {
    pub(crate) fn respond(self, headers: &HeaderMap) -> Response {
        let etag = format!("\"{}\"", self.sha256);
        if matches_etag(headers, &etag) {
            return (StatusCode::NOT_MODIFIED, [(header::ETAG, etag)]).into_response();
        }
        // Never more than was announced; if the file became shorter the connection is cut, so that
        // no client takes a part for the whole.
        let content = tokio::fs::File::from_std(self.content).take(self.size_bytes);
        let body = Body::from_stream(ReaderStream::with_capacity(content, FILE_CHUNK_BYTES));
        let headers: [(HeaderName, String); 3] = [
            (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
            (header::CONTENT_LENGTH, self.size_bytes.to_string()),
            (header::ETAG, etag),
        ];
        (headers, body).into_response()
    }
}

/// True if `If-None-Match` names this content.
fn matches_etag(headers: &HeaderMap, etag: &str) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == "*" || tag == etag)
}
