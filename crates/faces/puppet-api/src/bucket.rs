//! `/puppet/v3/file_bucket_file/{algorithm}/{hash}[/{*path}]`: copies of files that agents replace.
//!
//! ```text
//! HEAD   tells whether the caller stored the file, under this path
//! GET    its content, or with diff_with=HASH its difference from another one
//! PUT    stores it
//! ```
//!
//! Only holders of a verified client certificate may use it, and each only its own files.

use std::io::{self, Read};

use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use file_bucket::defaults::FILE_BYTES;
use file_bucket::{BucketKey, BucketKeyError, FileBucket, FileBucketError};
use futures_util::StreamExt as _;
use pcp::Certname;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;
use tokio_util::io::ReaderStream;

use crate::bounded_body::bounded_body;
use crate::defaults::{
    BODY_TIME, BUCKET_CHUNKS, BUCKET_FILES_AT_ONCE, BUCKET_FILES_OF_NODE, BUCKET_WAIT,
    FILE_CHUNK_BYTES,
};
use crate::failure::PuppetApiFailure;
use crate::node_shares::{NodeShares, NodeTurn};
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

/// State of the handlers.
#[derive(Debug, Clone)]
struct BucketServer {
    bucket: FileBucket,
    turns: NodeShares,
}

/// A body that arrives while a thread reads it.
struct ArrivingBody {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    /// The part of the last chunk that was not read yet.
    rest: Bytes,
}

pub(crate) fn router(bucket: FileBucket) -> Router {
    let turns = NodeShares::new(BUCKET_FILES_OF_NODE).with_total(BUCKET_FILES_AT_ONCE);
    Router::new()
        .route("/puppet/v3/file_bucket_file/{*key}", get(fetch).put(store))
        .with_state(BucketServer { bucket, turns })
}

impl BucketServer {
    async fn take_turn(&self, certname: &Certname) -> Result<NodeTurn, PuppetApiFailure> {
        self.turns.turn_within(certname.as_str(), BUCKET_WAIT).await
    }
}

/// The caller, and the key that it requests.
fn identify(
    caller: &PuppetApiCaller,
    key: &str,
) -> Result<(Certname, BucketKey), PuppetApiFailure> {
    let certname = caller.require_certname()?.parse();
    let certname = certname
        .map_err(|error: pcp::CertnameError| PuppetApiFailure::bad_request(error.to_string()))?;
    let key = key.parse();
    let key =
        key.map_err(|error: BucketKeyError| PuppetApiFailure::bad_request(error.to_string()))?;
    Ok((certname, key))
}

async fn fetch(
    State(server): State<BucketServer>,
    Path(key): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, PuppetApiFailure> {
    let other = params.get("diff_with")?.map(|sum| {
        let algorithm = key.split('/').next().unwrap_or_default();
        format!("{algorithm}/{sum}")
    });
    let (certname, key) = identify(&caller, &key)?;
    if params.get("list_all")?.is_some() {
        return Err(PuppetApiFailure::bad_request(
            "the parameter list_all is not supported: request the files by their sums",
        ));
    }
    let turn = server.take_turn(&certname).await?;
    if let Some(other) = other {
        let (_, other) = identify(&caller, &other)?;
        return compare(server, certname, (key, other), turn).await;
    }
    let (bucket, wanted) = (server.bucket, key.clone());
    let opening = tokio::task::spawn_blocking(move || bucket.open(&certname, &wanted));
    let opened = opening
        .await
        .map_err(|panic| PuppetApiFailure::internal(&panic))?;
    let Some(file) = opened.map_err(bucket_failure)? else {
        return Err(PuppetApiFailure::not_found(format!(
            "Could not find file_bucket_file {key}"
        )));
    };
    let content = tokio::fs::File::from_std(file.content).take(file.bytes);
    let chunks = ReaderStream::with_capacity(content, FILE_CHUNK_BYTES).map(move |chunk| {
        let _held = &turn;
        chunk
    });
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, file.bytes.to_string()),
    ];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

/// The difference of two files, in the form of `diff -u`.
async fn compare(
    server: BucketServer,
    certname: Certname,
    (old, new): (BucketKey, BucketKey),
    turn: NodeTurn,
) -> Result<Response, PuppetApiFailure> {
    let missing = PuppetApiFailure::not_found(format!(
        "Could not find file_bucket_file {old} and {new} of {certname}"
    ));
    let comparing = tokio::task::spawn_blocking(move || {
        let _held = turn;
        server.bucket.diff(&certname, &old, &new)
    });
    let compared = comparing
        .await
        .map_err(|panic| PuppetApiFailure::internal(&panic))?;
    let text = compared.map_err(bucket_failure)?.ok_or(missing)?;
    let headers = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((headers, text).into_response())
}

async fn store(
    State(server): State<BucketServer>,
    Path(key): Path<String>,
    caller: PuppetApiCaller,
    request: Request,
) -> Result<Response, PuppetApiFailure> {
    let (certname, key) = identify(&caller, &key)?;
    let limit = usize::try_from(FILE_BYTES).unwrap_or(usize::MAX);
    let body = request.into_body();
    if body.size_hint().lower() > FILE_BYTES {
        return Err(PuppetApiFailure::too_large(limit));
    }
    let _turn = server.take_turn(&certname).await?;
    let (sender, chunks) = mpsc::channel(BUCKET_CHUNKS);
    let bucket = server.bucket;
    let storing = tokio::task::spawn_blocking(move || {
        let rest = Bytes::new();
        bucket.store(&certname, &key, &mut ArrivingBody { chunks, rest })
    });
    // one more byte, so that the bucket itself finds a file that is too large
    let mut body = bounded_body(body.into_data_stream(), limit.saturating_add(1), BODY_TIME);
    while let Some(chunk) = body.next().await {
        // the bucket has refused the file
        if sender.send(chunk).await.is_err() {
            break;
        }
    }
    drop(sender);
    let stored = storing
        .await
        .map_err(|panic| PuppetApiFailure::internal(&panic))?;
    stored.map_err(bucket_failure)?;
    let headers = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((StatusCode::OK, headers).into_response())
}

fn bucket_failure(error: FileBucketError) -> PuppetApiFailure {
    match &error {
        FileBucketError::TooLarge => PuppetApiFailure::payload_too_large(error.to_string()),
        FileBucketError::TooLargeToCompare => PuppetApiFailure::bad_request(error.to_string()),
        FileBucketError::Mismatch { .. } => PuppetApiFailure::bad_request(error.to_string()),
        FileBucketError::Source(source) => {
            PuppetApiFailure::bad_request(format!("{error}: {source}"))
        }
        FileBucketError::Full => {
            tracing::warn!(%error, "a file is not stored");
            PuppetApiFailure::busy(error.to_string())
        }
        FileBucketError::Io { .. } => PuppetApiFailure::internal(&error),
    }
}

impl Read for ArrivingBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.chunks.blocking_recv() {
                None => return Ok(0),
                Some(chunk) => self.rest = chunk?,
            }
        }
        let length = buffer.len().min(self.rest.len());
        buffer[..length].copy_from_slice(&self.rest.split_to(length));
        Ok(length)
    }
}
