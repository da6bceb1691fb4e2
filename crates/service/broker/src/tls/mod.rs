//! TLS for many idle connections: an idle connection has no buffers.

mod scratch;
mod socket;

pub(crate) use scratch::INPUT_BYTES as READ_BYTES;
pub(crate) use socket::{TlsError, TlsReadOutcome, TlsSocket};
