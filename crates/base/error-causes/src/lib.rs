//! Errors in a line, and the cause of a failed connection in plain words: [`chain`] and
//! [`ConnectionError`].
//!
//! Errors of HTTP clients are chains: reqwest, hyper, TLS, the operating system. The cause that an
//! operator can act on stands somewhere in the middle, in the words of a library. This crate finds it
//! and says it once, for every program that connects to another one.
//!
//! The rule: the words for a connection name the cause and never an address, since an address may hold
//! a secret; the caller adds which peer it was.

mod certificate;
mod chain;
mod error;
mod io_errors;
mod tls;

pub use chain::chain;
pub use error::{ConnectionError, ConnectionErrorKind};
