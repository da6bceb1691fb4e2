//! Bodies of submissions: [`SubmissionReader`].
//!
//! Invariants: the memory for all bodies together is reserved before they are read; an uncompressed
//! body is no larger than its limit, whatever the compressed one says.

use std::io::Read as _;
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use pcp::Certname;
use run_reports::pson_to_json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::failure::SubmissionFailure;
use crate::defaults::{SUBMISSION_BODIES_KIB, SUBMISSION_TIME, SUBMISSION_WAIT};
use crate::peer::PuppetApiCaller;

/// Reader of bodies, with the memory that they share.
#[derive(Clone, Debug)]
pub(super) struct SubmissionReader {
    memory: Arc<Semaphore>,
}

/// A body as JSON text.
#[derive(Debug)]
pub(super) struct SubmittedText {
    pub(super) certname: Certname,
    pub(super) json: String,
    /// Memory for the text, held until it is recorded.
    _memory: OwnedSemaphorePermit,
}

/// The compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyCoding {
    Identity,
    Gzip,
    Deflate,
}

/// Types of JSON, and PSON, whose strings may have any bytes.
const MEDIA_TYPES: [&str; 4] = [
    "application/json",
    "application/vnd.puppet.rich+json",
    "text/pson",
    "application/pson",
];

// === impl SubmissionReader ===

impl SubmissionReader {
    pub(super) fn new() -> Self {
        Self {
            memory: Arc::new(Semaphore::new(SUBMISSION_BODIES_KIB as usize)),
        }
    }

    /// Reads the body of at most `limit` bytes that a node sends about itself.
    pub(super) async fn read(
        &self,
        caller: &PuppetApiCaller,
        name: &str,
        request: Request,
        limit: usize,
    ) -> Result<SubmittedText, SubmissionFailure> {
        let certname = own_certname(caller, name)?;
        check_media_type(request.headers())?;
        let coding = BodyCoding::of(request.headers())?;
        let body = request.into_body();
        let announced = body.size_hint().exact();
        let announced = announced.filter(|_| coding == BodyCoding::Identity);
        let memory = self.reserve(announced, limit).await?;
        let bytes = read_whole(body, limit).await?;
        let text = tokio::task::spawn_blocking(move || to_json(&bytes, coding, limit));
        let json = text
            .await
            .map_err(|_| SubmissionFailure::busy("the server is shutting down"))??;
        Ok(SubmittedText {
            certname,
            json,
            _memory: memory,
        })
    }

    /// Reserves memory for a body of the announced length, or else of the limit.
    async fn reserve(
        &self,
        announced: Option<u64>,
        limit: usize,
    ) -> Result<OwnedSemaphorePermit, SubmissionFailure> {
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        if announced.is_some_and(|bytes| bytes > most) {
            return Err(SubmissionFailure::too_large(limit));
        }
        let kib = announced.unwrap_or(most).div_ceil(1_024).max(1);
        let kib = u32::try_from(kib)
            .unwrap_or(u32::MAX)
            .min(SUBMISSION_BODIES_KIB);
        let memory = Arc::clone(&self.memory).acquire_many_owned(kib);
        match tokio::time::timeout(SUBMISSION_WAIT, memory).await {
            Ok(Ok(memory)) => Ok(memory),
            Ok(Err(_)) | Err(_) => Err(SubmissionFailure::busy(
                "too many nodes send reports and facts at once",
            )),
        }
    }
}

/// The name in the path, which must be that of the certificate.
fn own_certname(caller: &PuppetApiCaller, name: &str) -> Result<Certname, SubmissionFailure> {
    let Some(certname) = caller.certname() else {
        return Err(SubmissionFailure::forbidden(
            "data is taken from known nodes only; show a client certificate of this CA",
        ));
    };
    if certname != name {
        let message = format!("{certname} may send data about itself only");
        return Err(SubmissionFailure::forbidden(message));
    }
    let parsed = certname.parse();
    parsed.map_err(|error: pcp::CertnameError| SubmissionFailure::invalid(error.to_string()))
}

fn check_media_type(headers: &HeaderMap) -> Result<(), SubmissionFailure> {
    let given = header_text(headers, header::CONTENT_TYPE);
    let kind = given.split(';').next().unwrap_or_default().trim();
    if MEDIA_TYPES
        .iter()
        .any(|known| kind.eq_ignore_ascii_case(known))
    {
        return Ok(());
    }
    Err(SubmissionFailure::unsupported(
        "the body must be application/json or text/pson, as the header content-type tells",
    ))
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

async fn read_whole(body: Body, limit: usize) -> Result<Bytes, SubmissionFailure> {
    let reading = Limited::new(body, limit).collect();
    match tokio::time::timeout(SUBMISSION_TIME, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            Err(SubmissionFailure::too_large(limit))
        }
        Ok(Err(_)) => Err(SubmissionFailure::invalid("the body broke off")),
        Err(_) => Err(SubmissionFailure::slow(SUBMISSION_TIME)),
    }
}

fn to_json(bytes: &[u8], coding: BodyCoding, limit: usize) -> Result<String, SubmissionFailure> {
    let unpacked = match coding {
        BodyCoding::Identity => return Ok(pson_to_json(bytes).into_owned()),
        BodyCoding::Gzip => unpack(MultiGzDecoder::new(bytes), limit)?,
        BodyCoding::Deflate => unpack(ZlibDecoder::new(bytes), limit)?,
    };
    Ok(pson_to_json(&unpacked).into_owned())
}

fn unpack(reader: impl std::io::Read, limit: usize) -> Result<Vec<u8>, SubmissionFailure> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX);
    let mut text = Vec::new();
    let read = reader.take(most.saturating_add(1)).read_to_end(&mut text);
    match read {
        Ok(length) if length > limit => Err(SubmissionFailure::too_large(limit)),
        Ok(_) => Ok(text),
        Err(_) => Err(SubmissionFailure::invalid(
            "the body is not compressed as its header content-encoding tells",
        )),
    }
}

// === impl BodyCoding ===

impl BodyCoding {
    fn of(headers: &HeaderMap) -> Result<Self, SubmissionFailure> {
        let given = header_text(headers, header::CONTENT_ENCODING);
        match given.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            "deflate" => Ok(Self::Deflate),
            _ => Err(SubmissionFailure::unsupported(
                "the body may be compressed with gzip or deflate only",
            )),
        }
    }
}
