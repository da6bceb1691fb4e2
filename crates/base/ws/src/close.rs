//! Close frames: a code and a reason.

use bytes::Bytes;

use crate::ProtocolError;
use crate::defaults::MAX_CLOSE_REASON_BYTES;

/// Close codes by name.
pub mod code {
    /// The connection has served its purpose.
    pub const NORMAL: u16 = 1000;
    /// The server stops, or the connection was idle for too long.
    pub const GOING_AWAY: u16 = 1001;
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: u16 = 1002;
    /// Never sent: stands for a close frame without a code.
    pub const NO_STATUS: u16 = 1005;
    /// Text that is not UTF-8.
    pub const INVALID_DATA: u16 = 1007;
    /// The peer is not permitted to do this.
    pub const POLICY: u16 = 1008;
    /// A message is too big.
    pub const TOO_BIG: u16 = 1009;
    /// The server had an internal error and cannot continue.
    pub const INTERNAL_ERROR: u16 = 1011;
    /// The server restarts, or asks the client to reconnect.
    pub const RESTART: u16 = 1012;
    /// The server cannot serve the client now; the client may reconnect later.
    pub const TRY_AGAIN_LATER: u16 = 1013;
}

/// Code and reason with which a peer closed the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFrame {
    /// Close code, from 1000 to 4999.
    pub code: u16,
    /// Reason as text for people; often empty.
    pub reason: String,
}

/// Reads the payload of a close frame; an empty one has no code.
pub(crate) fn parse(payload: &Bytes) -> Result<Option<CloseFrame>, ProtocolError> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        return if payload.is_empty() {
            Ok(None)
        } else {
            Err(ProtocolError::CloseLength)
        };
    };
    let code = u16::from_be_bytes(*code);
    if !is_sendable(code) {
        return Err(ProtocolError::CloseCode(code));
    }
    let reason = std::str::from_utf8(reason).map_err(|_| ProtocolError::NotUtf8)?;
    Ok(Some(CloseFrame {
        code,
        reason: reason.to_owned(),
    }))
}

/// True if a code may be sent in a frame. Codes 1004 to 1006 and 1015 have special meanings, codes
/// below 1000 and from 5000 on have none, and 1016 to 2999 are reserved for future versions of the
/// protocol.
pub(crate) fn is_sendable(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// As much of a reason as fits, cut between characters.
pub(crate) fn truncate_reason(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(MAX_CLOSE_REASON_BYTES)]
}
