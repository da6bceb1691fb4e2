//! The client's side: request an upgrade, and check the response.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::{BufMut as _, BytesMut};

use super::{HeadError, HttpResponseHead, accept_value};

/// A sent request for a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingUpgrade {
    accept: String,
}

/// Reason for which no WebSocket was opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpgradeError {
    /// The response is not HTTP.
    #[error("the server's answer is broken: {0}")]
    Head(#[from] HeadError),
    /// The server refused the upgrade.
    #[error("the server answered HTTP {status} {reason}")]
    Refused {
        /// HTTP status of the response.
        status: u16,
        /// Reason in the response; truncated.
        reason: String,
    },
    /// The response has status 101, but does not prove that a WebSocket server sent it.
    #[error("the server's answer does not open a WebSocket: {0}")]
    NotAWebSocket(&'static str),
}

/// Longest reason of a refusal that an error repeats, in characters.
const MAX_REASON_CHARS: usize = 80;

impl PendingUpgrade {
    /// Appends a request for `target` to `out`. `host` is the `Host` header, with the port if it is
    /// not the default; `key` must be random; `headers` are added to those of the handshake.
    ///
    /// # Panics
    /// If `host`, `target` or a header contains control characters, or `target` a blank: they come
    /// from configuration, which is checked when it is read.
    pub fn write_request(
        host: &str,
        target: &str,
        key: [u8; 16],
        headers: &[(&str, &str)],
        out: &mut BytesMut,
    ) -> Self {
        let extra = headers.iter().flat_map(|(name, value)| [*name, *value]);
        let safe = [host, target]
            .into_iter()
            .chain(extra)
            .all(|text| !text.contains(char::is_control));
        assert!(
            safe && !target.contains(' '),
            "a header would be taken for another"
        );
        let key = BASE64.encode(key);
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
        );
        out.put_slice(head.as_bytes());
        for (name, value) in headers {
            out.put_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        out.put_slice(b"\r\n");
        Self {
            accept: accept_value(&key),
        }
    }

    /// Takes the response off the front of `buf` and checks it. `None`: more bytes are needed.
    /// Frames that follow stay in `buf`.
    pub fn read_response(
        &self,
        buf: &mut BytesMut,
    ) -> Result<Option<HttpResponseHead>, UpgradeError> {
        let Some(response) = HttpResponseHead::read(buf)? else {
            return Ok(None);
        };
        if response.status != 101 {
            let reason = response.reason.chars().take(MAX_REASON_CHARS).collect();
            return Err(UpgradeError::Refused {
                status: response.status,
                reason,
            });
        }
        let headers = &response.headers;
        let fault = if !headers.has_token("Upgrade", "websocket") {
            "no Upgrade: websocket"
        } else if !headers.has_token("Connection", "upgrade") {
            "no Connection: Upgrade"
        } else if headers.single("Sec-WebSocket-Accept") != Some(&self.accept) {
            "Sec-WebSocket-Accept does not fit the request"
        } else if headers.get("Sec-WebSocket-Extensions").is_some() {
            "an extension that was not asked for"
        } else if headers.get("Sec-WebSocket-Protocol").is_some() {
            "a subprotocol that was not asked for"
        } else {
            return Ok(Some(response));
        };
        Err(UpgradeError::NotAWebSocket(fault))
    }
}
