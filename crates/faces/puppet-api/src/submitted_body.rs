//! Bodies that nodes send: [`SubmissionReader`].
//!
//! Invariants: the memory for all bodies together is reserved before they are read, and one node has a bounded
//! number of them; an uncompressed
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

use crate::defaults::{
    BODIES_OF_NODE_MAX, SMALL_BODY_BYTES, SUBMISSION_BODIES_KIB, SUBMISSION_TIME, SUBMISSION_WAIT,
};
use crate::failure::PuppetApiFailure;
use crate::node_shares::NodeShares;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

/// Reader of bodies, with the memory that they share.
#[derive(Clone, Debug)]
pub(crate) struct SubmissionReader {
    memory: Arc<Semaphore>,
    shares: NodeShares,
}

/// Memory for a body of a node, as a part of its share.
#[derive(Debug)]
pub(crate) struct BodyMemory {
    _memory: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
}

/// A body as it arrived.
#[derive(Debug)]
pub(crate) struct SubmittedBody {
    pub(crate) certname: Certname,
    /// The bytes, which may be compressed.
    pub(crate) bytes: Bytes,
    coding: BodyCoding,
    limit: usize,
    memory: BodyMemory,
}

/// A body as JSON text.
#[derive(Debug)]
pub(crate) struct SubmittedText {
    pub(crate) certname: Certname,
    pub(crate) json: String,
    /// Memory for the text, held until it is recorded.
    _memory: BodyMemory,
}

/// A body as the parameters of a form.
#[derive(Debug)]
pub(crate) struct SubmittedForm {
    pub(crate) params: QueryParams,
    /// The body as it arrived.
    pub(crate) bytes: Bytes,
    /// Memory for the parameters, held until the request is answered.
    pub(crate) _memory: BodyMemory,
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
    pub(crate) fn new() -> Self {
        Self {
            memory: Arc::new(Semaphore::new(SUBMISSION_BODIES_KIB as usize)),
            shares: NodeShares::new(BODIES_OF_NODE_MAX),
        }
    }

    /// Reads the body of at most `limit` bytes that a node sends about itself.
    pub(crate) async fn read(
        &self,
        caller: &PuppetApiCaller,
        name: &str,
        request: Request,
        limit: usize,
    ) -> Result<SubmittedBody, PuppetApiFailure> {
        own_certname(caller, name)?;
        check_media_type(request.headers())?;
        self.read_any(caller, name, request, limit).await
    }

    /// Reads a form of at most `limit` bytes, such as a request for a catalog.
    pub(crate) async fn read_form(
        &self,
        caller: &PuppetApiCaller,
        name: &str,
        request: Request,
        limit: usize,
    ) -> Result<SubmittedForm, PuppetApiFailure> {
        let body = self.read_any(caller, name, request, limit).await?;
        let SubmittedBody {
            bytes,
            coding,
            memory,
            ..
        } = body;
        let compressed = bytes.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let bytes = match coding {
                BodyCoding::Identity => compressed,
                BodyCoding::Gzip => unpack(MultiGzDecoder::new(&*compressed), limit)?.into(),
                BodyCoding::Deflate => unpack(ZlibDecoder::new(&*compressed), limit)?.into(),
            };
            Ok::<_, PuppetApiFailure>(QueryParams::of_form(&bytes))
        });
        let params = reading
            .await
            .map_err(|_| PuppetApiFailure::busy("the server is shutting down"))??;
        Ok(SubmittedForm {
            params,
            bytes,
            _memory: memory,
        })
    }

    pub(crate) async fn read_any(
        &self,
        caller: &PuppetApiCaller,
        name: &str,
        request: Request,
        limit: usize,
    ) -> Result<SubmittedBody, PuppetApiFailure> {
        let certname = own_certname(caller, name)?;
        let coding = BodyCoding::of(request.headers())?;
        let share = self.take_share(certname.as_str()).await?;
        let (bytes, memory) = self.read_bytes(request, coding, limit, share).await?;
        Ok(SubmittedBody {
            certname,
            bytes,
            coding,
            limit,
            memory,
        })
    }

    async fn read_bytes(
        &self,
        request: Request,
        coding: BodyCoding,
        limit: usize,
        share: OwnedSemaphorePermit,
    ) -> Result<(Bytes, BodyMemory), PuppetApiFailure> {
        let body = request.into_body();
        let announced = body.size_hint().exact();
        let announced = announced.filter(|_| coding == BodyCoding::Identity);
        let memory = BodyMemory {
            _memory: self.reserve(announced, limit).await?,
            _share: share,
        };
        Ok((read_whole(body, limit).await?, memory))
    }

    async fn take_share(&self, certname: &str) -> Result<OwnedSemaphorePermit, PuppetApiFailure> {
        let share = tokio::time::timeout(SUBMISSION_WAIT, self.shares.take(certname)).await;
        share.ok().flatten().ok_or_else(|| {
            PuppetApiFailure::busy(format!(
                "{certname} sends more than {BODIES_OF_NODE_MAX} requests with data at once; is another agent \
                 running with its certificate?"
            ))
        })
    }

    /// Reserves memory for a body of the announced length, or else of the limit.
    async fn reserve(
        &self,
        announced: Option<u64>,
        limit: usize,
    ) -> Result<OwnedSemaphorePermit, PuppetApiFailure> {
        let most = u64::try_from(limit).unwrap_or(u64::MAX);
        if announced.is_some_and(|bytes| bytes > most) {
            return Err(PuppetApiFailure::too_large(limit));
        }
        let kib = announced.unwrap_or(most).div_ceil(1_024).max(1);
        let kib = u32::try_from(kib)
            .unwrap_or(u32::MAX)
            .min(SUBMISSION_BODIES_KIB);
        let memory = Arc::clone(&self.memory).acquire_many_owned(kib);
        match tokio::time::timeout(SUBMISSION_WAIT, memory).await {
            Ok(Ok(memory)) => Ok(memory),
            Ok(Err(_)) | Err(_) => Err(PuppetApiFailure::busy(
                "too many nodes send reports and facts at once",
            )),
        }
    }
}

impl SubmittedBody {
    /// Reads the body's text with `read`, on a thread on which it delays no other request, unless it is small.
    /// The memory of the text is reserved as long as the returned one exists.
    pub(crate) async fn read_text<T: Send + 'static>(
        self,
        read: impl FnOnce(&SubmittedText) -> Result<T, PuppetApiFailure> + Send + 'static,
    ) -> Result<(T, SubmittedText), PuppetApiFailure> {
        let is_small = self.coding == BodyCoding::Identity && self.bytes.len() <= SMALL_BODY_BYTES;
        let reading = move || {
            let text = self.into_text()?;
            Ok((read(&text)?, text))
        };
        if is_small {
            return reading();
        }
        let reading = tokio::task::spawn_blocking(reading).await;
        reading.map_err(|_| PuppetApiFailure::busy("the server is shutting down"))?
    }

    fn into_text(self) -> Result<SubmittedText, PuppetApiFailure> {
        Ok(SubmittedText {
            certname: self.certname,
            json: to_json(&self.bytes, self.coding, self.limit)?,
            _memory: self.memory,
        })
    }
}

/// The name in the path, which must be that of the certificate.
fn own_certname(caller: &PuppetApiCaller, name: &str) -> Result<Certname, PuppetApiFailure> {
    let certname = caller.require_own(name)?.certname.parse();
    certname.map_err(|error: pcp::CertnameError| PuppetApiFailure::bad_request(error.to_string()))
}

fn check_media_type(headers: &HeaderMap) -> Result<(), PuppetApiFailure> {
    let given = header_text(headers, header::CONTENT_TYPE);
    let kind = given.split(';').next().unwrap_or_default().trim();
    if MEDIA_TYPES
        .iter()
        .any(|known| kind.eq_ignore_ascii_case(known))
    {
        return Ok(());
    }
    Err(PuppetApiFailure::unsupported(
        "the body must be application/json or text/pson, as the header content-type tells",
    ))
}

fn header_text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

async fn read_whole(body: Body, limit: usize) -> Result<Bytes, PuppetApiFailure> {
    let reading = Limited::new(body, limit).collect();
    match tokio::time::timeout(SUBMISSION_TIME, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(PuppetApiFailure::too_large(limit)),
        Ok(Err(_)) => Err(PuppetApiFailure::bad_request("the body broke off")),
        Err(_) => Err(PuppetApiFailure::slow(SUBMISSION_TIME)),
    }
}

fn to_json(bytes: &[u8], coding: BodyCoding, limit: usize) -> Result<String, PuppetApiFailure> {
    let unpacked = match coding {
        BodyCoding::Identity => return Ok(pson_to_json(bytes).into_owned()),
        BodyCoding::Gzip => unpack(MultiGzDecoder::new(bytes), limit)?,
        BodyCoding::Deflate => unpack(ZlibDecoder::new(bytes), limit)?,
    };
    Ok(pson_to_json(&unpacked).into_owned())
}

fn unpack(reader: impl std::io::Read, limit: usize) -> Result<Vec<u8>, PuppetApiFailure> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX);
    let mut text = Vec::new();
    let read = reader.take(most.saturating_add(1)).read_to_end(&mut text);
    match read {
        Ok(length) if length > limit => Err(PuppetApiFailure::too_large(limit)),
        Ok(_) => Ok(text),
        Err(_) => Err(PuppetApiFailure::bad_request(
            "the body is not compressed as its header content-encoding tells",
        )),
    }
}

// === impl BodyCoding ===

impl BodyCoding {
    fn of(headers: &HeaderMap) -> Result<Self, PuppetApiFailure> {
        let given = header_text(headers, header::CONTENT_ENCODING);
        match given.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Identity),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            "deflate" => Ok(Self::Deflate),
            _ => Err(PuppetApiFailure::unsupported(
                "the body may be compressed with gzip or deflate only",
            )),
        }
    }
}
