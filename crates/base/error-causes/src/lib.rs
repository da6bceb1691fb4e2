//! Errors in one line, and the cause of a failed connection in plain words: [`chain`] and
//! [`ConnectionError`].
//!
//! Errors of HTTP clients are chains: reqwest, hyper, TLS, the operating system. The cause that an
//! operator can act on is somewhere in the middle, in the wording of a library. This crate finds
//! and words it, for every program that connects to another one.
//!
//! Invariant: the text for a connection names the cause and never an address, which may contain a
//! secret; the caller adds the name of the peer.

mod certificate;
mod chain;
mod error;
mod io_errors;
mod tls;

pub use chain::chain;
pub use error::{ConnectionError, ConnectionErrorKind};
