//! The HTTP/1.1 upgrade that opens a WebSocket, for both sides, from and to bytes.
//!
//! A server reads a [`HttpRequestHead`] and answers with [`write_accept`] or [`write_refusal`]; a
//! client sends a [`PendingUpgrade`] and checks the response with it. Invariant: heads are bounded
//! and strict, and bytes after a head stay in the buffer, since a peer may send frames at once.

mod client;
mod head;
mod server;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

pub use client::{PendingUpgrade, UpgradeError};
pub use head::{HeadError, HttpHeaders, HttpRequestHead, HttpResponseHead};
pub use server::{RefusedUpgrade, UpgradeKey, write_accept, write_refusal, write_refusal_with};

/// The proof that a server understood the request (RFC 6455, 4.2.2). The protocol prescribes SHA-1;
/// it protects nothing here.
fn accept_value(key: &str) -> String {
    const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    context.update(key.as_bytes());
    context.update(GUID.as_bytes());
    BASE64.encode(context.finish())
}
