//! `GET /puppet/v3/file_content/{mount}/{*path}`: files of tasks and modules.
//!
//! With `sha256=…` the content of that hash is served, even if the environment has changed: a job's
//! task files stay as they were when it was created. Without it, `environment=…` names the
//! environment.
//!
//! Only holders of a verified client certificate may read. Contents are streamed from the disk and
//! have their hash as ETag.

use std::fs::File;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use environments::{BlobStore, CodeError, CodeReader, EnvironmentName, FileMount, Sha256};
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use tokio_util::io::ReaderStream;

use crate::defaults::FILE_CHUNK_BYTES;
use crate::failure::Failure;
use crate::peer::Caller;

#[derive(Clone)]
struct Files {
    code: Arc<dyn CodeReader>,
    blobs: BlobStore,
}

#[derive(Debug, Deserialize)]
struct Params {
    environment: Option<String>,
    sha256: Option<String>,
}

/// A parsed request.
enum Wanted {
    Content(Sha256),
    File {
        environment: EnvironmentName,
        mount: FileMount,
        module: Option<String>,
        path: String,
    },
}

/// Content to send.
struct Found {
    sha256: Sha256,
    size_bytes: u64,
    content: File,
}

pub(crate) fn router(code: Arc<dyn CodeReader>, blobs: BlobStore) -> Router {
    Router::new()
        .route("/puppet/v3/file_content/{mount}/{*path}", get(fetch))
        .with_state(Files { code, blobs })
}

async fn fetch(
    State(files): State<Files>,
    Path((mount, path)): Path<(String, String)>,
    params: Result<Query<Params>, QueryRejection>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    if caller.certname().is_none() {
        return Err(Failure::forbidden(
            "file content is served to known nodes only; show a client certificate of this CA",
        ));
    }
    let Query(params) = params.map_err(|_| {
        Failure::bad_request(
            "the query string cannot be read; it may have environment and sha256, each once",
        )
    })?;
    let wanted = Wanted::parse(&mount, path, params)?;
    let found = tokio::task::spawn_blocking(move || files.find(&wanted))
        .await
        .map_err(|panic| Failure::internal(&panic))??;
    Ok(found.respond(&headers))
}

impl Wanted {
    fn parse(mount: &str, path: String, params: Params) -> Result<Self, Failure> {
        let mount: FileMount = mount
            .parse()
            .map_err(|error: environments::UnknownMount| Failure::not_found(error.to_string()))?;
        if let Some(sha256) = params.sha256 {
            let sha256 = sha256
                .parse()
                .map_err(|_| Failure::bad_request("sha256 must be 64 hexadecimal digits"))?;
            return Ok(Self::Content(sha256));
        }
        let environment = params
            .environment
            .ok_or_else(|| Failure::bad_request("the parameter environment is missing"))?
            .parse()
            .map_err(|error: environments::EnvironmentNameError| {
                Failure::bad_request(error.to_string())
            })?;
        if mount == FileMount::Plugins {
            return Ok(Self::File {
                environment,
                mount,
                module: None,
                path,
            });
        }
        let (module, path) = path
            .split_once('/')
            .ok_or_else(|| Failure::bad_request("the path must be <module>/<file>"))?;
        let (module, path) = (Some(module.to_owned()), path.to_owned());
        Ok(Self::File {
            environment,
            mount,
            module,
            path,
        })
    }
}

impl Files {
    fn find(&self, wanted: &Wanted) -> Result<Found, Failure> {
        match wanted {
            Wanted::Content(sha256) => match self.blobs.open_blob(sha256) {
                Ok(Some(blob)) => Ok(Found {
                    sha256: *sha256,
                    size_bytes: blob.size_bytes,
                    content: blob.content,
                }),
                Ok(None) => Err(Failure::not_found(format!("no content {sha256} is kept"))),
                Err(error) => Err(Failure::internal(&error)),
            },
            Wanted::File {
                environment,
                mount,
                module,
                path,
            } => {
                let version = self.code.version(environment).map_err(code_failure)?;
                let file = version
                    .file(*mount, module.as_deref(), path)
                    .map_err(code_failure)?;
                Ok(Found {
                    sha256: file.sha256,
                    size_bytes: file.size_bytes,
                    content: file.content,
                })
            }
        }
    }
}

/// Converts an error of reading code. A link out of the module looks like a missing file, so that
/// nothing outside is revealed.
fn code_failure(error: CodeError) -> Failure {
    match &error {
        CodeError::InvalidPath { .. } => Failure::bad_request(error.to_string()),
        CodeError::Refused { .. } => {
            tracing::warn!(%error, "a file is not served");
            Failure::not_found("there is no such file")
        }
        _ if error.is_not_found() => Failure::not_found(missing(&error)),
        _ => Failure::internal(&error),
    }
}

/// The message without the paths of this host, which the errors name.
fn missing(error: &CodeError) -> String {
    match error {
        CodeError::UnknownEnvironment { environment, .. } => {
            format!("there is no environment {environment}")
        }
        other => other.to_string(),
    }
}

impl Found {
    fn respond(self, headers: &HeaderMap) -> Response {
        let etag = format!("\"{}\"", self.sha256);
        if is_known(headers, &etag) {
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
fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == "*" || tag == etag)
}
