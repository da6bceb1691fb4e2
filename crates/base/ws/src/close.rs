//! Close frames: a code and a reason.

use bytes::Bytes;

use crate::ProtocolError;
use crate::defaults::MAX_CLOSE_REASON_BYTES;

/// Close codes by name.
pub mod code {
    /// Done.
    pub const NORMAL: u16 = 1000;
    /// The server stops, or the connection was idle for too long.
    pub const GOING_AWAY: u16 = 1001;
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: u16 = 1002;
    /// Data of a kind that is not taken here.
    pub const UNSUPPORTED: u16 = 1003;
    /// Never sent: stands for a close frame without a code.
    pub const NO_STATUS: u16 = 1005;
    /// Text that is not UTF-8.
    pub const INVALID_DATA: u16 = 1007;
    /// The peer is not allowed to do that.
    pub const POLICY: u16 = 1008;
    /// A message is too big.
    pub const TOO_BIG: u16 = 1009;
    /// The server cannot go on.
    pub const INTERNAL_ERROR: u16 = 1011;
    /// The server restarts, or wants the client to come again.
    pub const RESTART: u16 = 1012;
    /// Come back later.
    pub const TRY_AGAIN_LATER: u16 = 1013;
}

/// Why a peer closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseFrame {
    /// 1000 to 4999.
    pub code: u16,
    /// For people; often empty.
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

/// Whether a code may stand in a frame: 1004 to 1006 and 1015 have meanings of their own, below
/// 1000 and from 5000 there are none, and 1016 to 2999 are kept for the protocol's future.
pub(crate) fn is_sendable(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// As much of a reason as fits, cut between characters.
pub(crate) fn clip(reason: &str) -> &str {
    &reason[..reason.floor_char_boundary(MAX_CLOSE_REASON_BYTES)]
}
