//! TLS for many idle connections: nothing is buffered per connection while nothing moves.

mod scratch;
mod socket;

pub(crate) use socket::{Received, TlsError, TlsSocket};
