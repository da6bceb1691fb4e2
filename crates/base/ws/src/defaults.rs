//! Limits of the codec, each with its calculation.

/// Largest payload of a control frame (RFC 6455, 5.5).
pub const MAX_CONTROL_BYTES: usize = 125;

/// Largest close reason: a control frame without the two bytes of the code.
pub const MAX_CLOSE_REASON_BYTES: usize = MAX_CONTROL_BYTES - 2;

/// Largest head of an HTTP request or response of the handshake. Real ones have about 300 bytes;
/// proxies may add a few hundred.
pub const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Largest number of header lines in a handshake. Real ones have about ten.
pub const MAX_HEADERS: usize = 64;

/// Size from which a payload is cut out of the caller's buffer together with its memory; below it,
/// copying is cheaper than a new buffer. Two reads of a typical size.
pub(crate) const DETACH_BYTES: usize = 32 * 1024;
