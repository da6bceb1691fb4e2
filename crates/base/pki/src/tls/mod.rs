//! TLS settings from four files: certificate chain, key, CA bundle, revocation
//! lists.
//!
//! Decisions that apply to every connection: TLS 1.2 and 1.3 (pxp-agent supports 1.2 only); no
//! session resumption, because a resumed session does not verify the client's certificate again and
//! a revoked agent could reconnect; a peer's certificate is checked against the CA bundle and the
//! revocation lists.
//!
//! Revocation policy:
//! - The status of a **leaf** must be known: once lists are configured, a certificate whose CA has
//!   none of them is refused.
//! - Intermediates are checked as well if every CA of the bundle has a list; otherwise only the
//!   leaf is (Puppet's root often has none). A CA certificate of the bundle that a list revokes is
//!   no longer trusted.
//! - An expired list is still used, with a warning: refusing every agent because a list was not
//!   renewed does more harm than good.

mod certnames;
mod client;
mod client_verifier;
mod files;
mod material;
mod named_server;
mod own;
mod revocations;
mod roots;
mod server;
mod verified_clients;
mod watch;

use std::sync::Arc;

use rustls::{CipherSuite, SupportedCipherSuite};

pub use certnames::{ServerCertnames, UnexpectedCertname};
pub use client::{ClientTls, ServerCheck};
pub use files::{LoadError, TlsFiles};
pub use own::{OwnCertificateError, verify_own};
pub use revocations::RevokedCertificates;
pub use roots::RootsError;
pub use server::{ClientAuth, ServerTls};

/// The cryptography provider of every TLS connection of Tutti.
///
/// In TLS 1.3 clients prefer AES-128 with SHA-256. Many processors compute SHA-256 by instructions of their own, but not the SHA-384
/// of AES-256, which takes 3 % of the server's time for a run without Puppet (`bench puppet-fleet`). Servers follow
/// the order of their clients, so puppet-agent keeps that of its OpenSSL.
pub fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    let is_second = |suite: &SupportedCipherSuite| suite.suite() != PREFERRED_SUITE;
    provider.cipher_suites.sort_by_key(is_second);
    Arc::new(provider)
}

const PREFERRED_SUITE: CipherSuite = CipherSuite::TLS13_AES_128_GCM_SHA256;
