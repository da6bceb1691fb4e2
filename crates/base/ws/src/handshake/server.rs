//! The server's side: check a request for an upgrade, and respond.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::{BufMut as _, BytesMut};

use super::{HeadError, HttpRequestHead, accept_value};

/// The key of a valid request for a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeKey(String);

/// Reason for which a request does not get a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedUpgrade {
    /// The head is not HTTP, or too large.
    #[error("{0}")]
    Head(#[from] HeadError),
    /// The method is not GET.
    #[error("only GET requests are served here")]
    Method,
    /// The request is not HTTP/1.1.
    #[error("HTTP/1.1 is needed for a WebSocket")]
    HttpVersion,
    /// The target is not a path.
    #[error("the request's target is not a path")]
    Target,
    /// The request has a body, which would be read as frames.
    #[error("a request for a WebSocket cannot have a body")]
    Body,
    /// The `Host` header does not occur exactly once.
    #[error("exactly one Host header is needed")]
    Host,
    /// The request does not ask for an upgrade to a WebSocket.
    #[error("only WebSocket connections are served here")]
    NotAnUpgrade,
    /// The request has another version of the protocol.
    #[error("only version 13 of the WebSocket protocol is served here")]
    WebSocketVersion,
    /// The key is missing, occurs more than once, or is not 16 bytes in base64.
    #[error("exactly one Sec-WebSocket-Key header with 16 bytes in base64 is needed")]
    Key,
}

impl HttpRequestHead {
    /// Checks that the request asks for a WebSocket as RFC 6455, 4.2.1 requires.
    pub fn check_upgrade(&self) -> Result<UpgradeKey, RefusedUpgrade> {
        let headers = &self.headers;
        let has_body = headers.get("Transfer-Encoding").is_some()
            || headers.all("Content-Length").any(|length| length != "0");
        let refusal = if self.method != "GET" {
            RefusedUpgrade::Method
        } else if !self.is_http_1_1 {
            RefusedUpgrade::HttpVersion
        } else if !self.target.starts_with('/') {
            RefusedUpgrade::Target
        } else if has_body {
            RefusedUpgrade::Body
        } else if headers.single("Host").is_none() {
            RefusedUpgrade::Host
        } else if !headers.has_token("Upgrade", "websocket")
            || !headers.has_token("Connection", "upgrade")
        {
            RefusedUpgrade::NotAnUpgrade
        } else if headers.single("Sec-WebSocket-Version") != Some("13") {
            RefusedUpgrade::WebSocketVersion
        } else {
            let key = headers
                .single("Sec-WebSocket-Key")
                .filter(|key| is_key(key));
            return key
                .map(|key| UpgradeKey(key.to_owned()))
                .ok_or(RefusedUpgrade::Key);
        };
        Err(refusal)
    }
}

impl RefusedUpgrade {
    /// The HTTP status for this reason.
    pub fn status(&self) -> u16 {
        match self {
            Self::Head(HeadError::TooLarge) => 431,
            Self::Method => 405,
            Self::HttpVersion => 505,
            Self::NotAnUpgrade | Self::WebSocketVersion => 426,
            _ => 400,
        }
    }
}

/// Appends the response that opens the WebSocket.
pub fn write_accept(key: &UpgradeKey, out: &mut BytesMut) {
    out.put_slice(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n");
    out.put_slice(b"Connection: Upgrade\r\nSec-WebSocket-Accept: ");
    out.put_slice(accept_value(&key.0).as_bytes());
    out.put_slice(b"\r\n\r\n");
}

/// Appends the response that refuses the request and ends the connection.
pub fn write_refusal(refusal: RefusedUpgrade, out: &mut BytesMut) {
    write_refusal_with(refusal.status(), &refusal.to_string(), out);
}

/// Appends a response with this status and a line of text that ends the connection, e.g. 404 for an
/// unknown path.
pub fn write_refusal_with(status: u16, text: &str, out: &mut BytesMut) {
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        426 => "Upgrade Required",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Refused",
    };
    let extra = match status {
        405 => "Allow: GET\r\n",
        426 => "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
        _ => "",
    };
    let length = text.len() + 1;
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nConnection: close\r\n{extra}\
         Content-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"
    );
    out.put_slice(head.as_bytes());
    out.put_slice(text.as_bytes());
    out.put_u8(b'\n');
}

fn is_key(text: &str) -> bool {
    BASE64.decode(text).is_ok_and(|key| key.len() == 16)
}
