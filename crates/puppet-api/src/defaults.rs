//! The numbers of this crate, with their reasons.

/// Largest body. The only ones are certificate requests (an RSA-4096 one with
/// extensions has 2.5 KB) and small JSON commands.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// Piece in which a file is read and sent. Two such pieces per download are in
/// memory at most.
pub const FILE_CHUNK_BYTES: usize = 64 * 1024;

/// Longest lifetime that `cert_ttl` may ask for: that of the CA itself.
pub const MAX_CERT_TTL_SECONDS: u64 = 15 * 365 * 24 * 3600;
