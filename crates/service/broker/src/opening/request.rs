//! The single HTTP request of a connection: [`OpeningRequest`].
//!
//! Invariants: the request's head is bounded; nothing is read after a request that is no upgrade;
//! and the bytes that a client sent after its upgrade are kept for the session.

use bytes::BytesMut;
use pxp::AgentCapabilities;
use ws::handshake::{self, HeadError, HttpRequestHead, RefusedUpgrade, UpgradeKey};
use ws::{ConnectionSide, MessageDecoder, ReceiveLimits};

use super::path::RequestedPath;
use crate::config::RequestPaths;
use crate::defaults::{PATH_BYTES, UPGRADE_BYTES};
use crate::status::StatusResponse;
use crate::tls::{TlsError, TlsReadOutcome, TlsSocket};

/// The first request of a connection.
pub(super) enum OpeningRequest {
    Upgrade(UpgradeRequest),
    /// Any other request: status, metrics, or an unknown path.
    Status {
        method: String,
        target: String,
        head_only: bool,
    },
}

/// A WebSocket upgrade that was not answered yet.
pub(super) struct UpgradeRequest {
    pub(super) requested_path: RequestedPath,
    pub(super) capabilities: Option<AgentCapabilities>,
    /// Bytes received after the request.
    pub(super) rest: BytesMut,
    key: UpgradeKey,
}

/// Cause for which no request was read.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error("the request cannot be read: {0}")]
    Head(#[from] HeadError),
    #[error("the upgrade is refused: {0}")]
    Upgrade(#[from] RefusedUpgrade),
    #[error("the client closed the connection before its request")]
    Ended,
    #[error("the client sent more than {UPGRADE_BYTES} bytes before it was answered")]
    TooLarge,
}

pub(super) async fn read(
    socket: &mut TlsSocket,
    mut plain: BytesMut,
    paths: &RequestPaths,
) -> Result<OpeningRequest, super::OpeningError> {
    loop {
        match HttpRequestHead::read(&mut plain) {
            Ok(Some(request)) => return read_request(socket, &request, plain, paths).await,
            Ok(None) => {}
            Err(error) => {
                refuse(socket, error.into()).await;
                return Err(RequestError::from(error).into());
            }
        }
        socket.ready(true, false).await.map_err(TlsError::from)?;
        if socket.receive(&mut plain)? == TlsReadOutcome::End {
            return Err(RequestError::Ended.into());
        }
    }
}

async fn read_request(
    socket: &mut TlsSocket,
    request: &HttpRequestHead,
    rest: BytesMut,
    paths: &RequestPaths,
) -> Result<OpeningRequest, super::OpeningError> {
    let served = request.target.len() <= PATH_BYTES;
    let wanted = served.then(|| paths.parse_path(&request.target)).flatten();
    match (wanted, request.check_upgrade()) {
        (Some(wanted), Ok(key)) => {
            let announced = request.headers.get(pxp::CAPABILITIES_HEADER);
            let capabilities = announced.and_then(|text| text.parse().ok());
            Ok(OpeningRequest::Upgrade(UpgradeRequest {
                requested_path: wanted,
                capabilities,
                rest,
                key,
            }))
        }
        // An invalid upgrade on a valid path.
        (Some(_), Err(refusal)) if request.headers.has_token("Upgrade", "websocket") => {
            refuse(socket, refusal).await;
            Err(RequestError::from(refusal).into())
        }
        _ => Ok(OpeningRequest::Status {
            method: request.method.clone(),
            target: request.target.clone(),
            head_only: request.method == "HEAD",
        }),
    }
}

impl UpgradeRequest {
    /// Answers with status 101.
    pub(super) async fn accept(&self, socket: &mut TlsSocket) -> Result<(), TlsError> {
        let mut response = BytesMut::new();
        handshake::write_accept(&self.key, &mut response);
        socket.send_all(&mut response).await
    }

    pub(super) fn decoder(max_message_bytes: usize) -> MessageDecoder {
        MessageDecoder::new(ConnectionSide::Server, ReceiveLimits { max_message_bytes })
    }

    /// Reads, within limits, until the client closes the connection.
    pub(super) async fn wait_for_end(&mut self, socket: &mut TlsSocket) -> super::OpeningError {
        loop {
            if let Err(error) = socket.ready(true, false).await {
                return TlsError::from(error).into();
            }
            match socket.receive(&mut self.rest) {
                Ok(TlsReadOutcome::End) => return RequestError::Ended.into(),
                Ok(_) if self.rest.len() > UPGRADE_BYTES => return RequestError::TooLarge.into(),
                Ok(_) => {}
                Err(error) => return error.into(),
            }
        }
    }
}

/// Answers a status request and closes the connection, which has one request only.
pub(super) async fn respond(
    mut socket: TlsSocket,
    answer: &StatusResponse,
    head_only: bool,
) -> Result<(), TlsError> {
    let head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.status,
        status_reason(answer.status),
        answer.content_type,
        answer.body.len(),
    );
    let mut bytes = BytesMut::from(head.as_bytes());
    if !head_only {
        bytes.extend_from_slice(answer.body.as_bytes());
    }
    socket.send_all(&mut bytes).await?;
    socket.send_close_notify();
    // Waits until the client has read the answer: after an earlier close it might be discarded.
    let mut ignored = BytesMut::new();
    while socket.receive(&mut ignored)? != TlsReadOutcome::End && ignored.len() <= UPGRADE_BYTES {
        socket.ready(true, false).await?;
    }
    Ok(())
}

/// Sends a refusal; errors are ignored, since such a client may not read either.
async fn refuse(socket: &mut TlsSocket, refusal: RefusedUpgrade) {
    let mut response = BytesMut::new();
    handshake::write_refusal(refusal, &mut response);
    if socket.send_all(&mut response).await.is_ok() {
        socket.send_close_notify();
    }
}

fn status_reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Service Unavailable",
    }
}
