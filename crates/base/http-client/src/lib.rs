//! Outgoing HTTP requests of all programs: [`builder`] and [`read_body`].
//!
//! Invariants: TLS settings come from `pki`; no redirect is followed, because it would show a
//! certificate or token to another server; proxies of the environment are not used unless the
//! caller asks for one; a body is never read beyond the caller's limit.
//!
//! [`ClientHeaders`] name the client of a request to a puppetserver that is behind a proxy.

mod body;
mod builder;
mod client_headers;

pub use body::{BodyError, excerpt, read_body};
pub use builder::{builder, builder_with_system_proxy, without_tls};
pub use client_headers::{ClientHeaders, ClientHeadersError, is_client_header};
