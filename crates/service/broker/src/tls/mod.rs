//! TLS for many idle connections: nothing is buffered per connection while nothing moves.

mod scratch;
mod socket;

pub(crate) use scratch::INPUT_BYTES as READ_BYTES;
pub(crate) use socket::{TlsError, TlsReadOutcome, TlsSocket};
