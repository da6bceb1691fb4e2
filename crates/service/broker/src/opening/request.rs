//! The one HTTP request of a connection.
//!
//! The rule: its head is bounded, nothing is read behind a request that is no upgrade, and what a
//! client sent behind its upgrade is kept for the session.

use bytes::BytesMut;
use pxp::Capabilities;
use ws::handshake::{self, HeadError, RefusedUpgrade, Request, UpgradeKey};
use ws::{Decoder, Limits, Role};

use super::path::Wanted;
use crate::config::Paths;
use crate::defaults::{PATH_BYTES, UPGRADE_BYTES};
use crate::status::Answer;
use crate::tls::{Received, TlsError, TlsSocket};

/// What a client wants.
pub(super) enum Asked {
    Upgrade(Upgrade),
    /// Anything else: status, metrics, or nothing that there is.
    Status {
        method: String,
        target: String,
        head_only: bool,
    },
}

/// A WebSocket that was asked for and not answered yet.
pub(super) struct Upgrade {
    pub(super) wanted: Wanted,
    pub(super) capabilities: Option<Capabilities>,
    /// What came behind the request.
    pub(super) rest: BytesMut,
    key: UpgradeKey,
}

/// Why there is no request.
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
    paths: &Paths,
) -> Result<Asked, super::Failed> {
    loop {
        match Request::read(&mut plain) {
            Ok(Some(request)) => return asked(socket, &request, plain, paths).await,
            Ok(None) => {}
            Err(error) => {
                refuse(socket, error.into()).await;
                return Err(RequestError::from(error).into());
            }
        }
        socket.ready(true, false).await.map_err(TlsError::from)?;
        if socket.receive(&mut plain)? == Received::End {
            return Err(RequestError::Ended.into());
        }
    }
}

async fn asked(
    socket: &mut TlsSocket,
    request: &Request,
    rest: BytesMut,
    paths: &Paths,
) -> Result<Asked, super::Failed> {
    let served = request.target.len() <= PATH_BYTES;
    let wanted = served.then(|| paths.wanted(&request.target)).flatten();
    match (wanted, request.upgrade()) {
        (Some(wanted), Ok(key)) => {
            let announced = request.headers.get(pxp::CAPABILITIES_HEADER);
            let capabilities = announced.and_then(|text| text.parse().ok());
            Ok(Asked::Upgrade(Upgrade {
                wanted,
                capabilities,
                rest,
                key,
            }))
        }
        // An upgrade that is wrong in itself, where one could be had.
        (Some(_), Err(refusal)) if request.headers.has_token("Upgrade", "websocket") => {
            refuse(socket, refusal).await;
            Err(RequestError::from(refusal).into())
        }
        _ => Ok(Asked::Status {
            method: request.method.clone(),
            target: request.target.clone(),
            head_only: request.method == "HEAD",
        }),
    }
}

impl Upgrade {
    /// Answers 101.
    pub(super) async fn accept(&self, socket: &mut TlsSocket) -> Result<(), TlsError> {
        let mut response = BytesMut::new();
        handshake::accept(&self.key, &mut response);
        socket.send_all(&mut response).await
    }

    pub(super) fn decoder(max_message_bytes: usize) -> Decoder {
        Decoder::new(Role::Server, Limits { max_message_bytes })
    }

    /// Reads on, within bounds, until the client gives up.
    pub(super) async fn wait_for_end(&mut self, socket: &mut TlsSocket) -> super::Failed {
        loop {
            if let Err(error) = socket.ready(true, false).await {
                return TlsError::from(error).into();
            }
            match socket.receive(&mut self.rest) {
                Ok(Received::End) => return RequestError::Ended.into(),
                Ok(_) if self.rest.len() > UPGRADE_BYTES => return RequestError::TooLarge.into(),
                Ok(_) => {}
                Err(error) => return error.into(),
            }
        }
    }
}

/// Answers and closes: one request per connection is enough for a status.
pub(super) async fn respond(
    mut socket: TlsSocket,
    answer: &Answer,
    head_only: bool,
) -> Result<(), TlsError> {
    let head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.status,
        reason(answer.status),
        answer.content_type,
        answer.body.len(),
    );
    let mut bytes = BytesMut::from(head.as_bytes());
    if !head_only {
        bytes.extend_from_slice(answer.body.as_bytes());
    }
    socket.send_all(&mut bytes).await?;
    socket.send_close_notify();
    // Until the client has taken it: closing earlier could throw the answer away on its side.
    let mut ignored = BytesMut::new();
    while socket.receive(&mut ignored)? != Received::End && ignored.len() <= UPGRADE_BYTES {
        socket.ready(true, false).await?;
    }
    Ok(())
}

/// Best effort: whoever sent that may not read either.
async fn refuse(socket: &mut TlsSocket, refusal: RefusedUpgrade) {
    let mut response = BytesMut::new();
    handshake::refuse(refusal, &mut response);
    if socket.send_all(&mut response).await.is_ok() {
        socket.send_close_notify();
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Service Unavailable",
    }
}
