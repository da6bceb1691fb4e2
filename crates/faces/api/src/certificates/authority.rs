//! The CA of this server: [`ServerAuthority`].

use std::sync::Arc;
use std::time::Duration;

use pki::ServerTls;
use puppet_api::CaService;

/// The CA of this server, and the TLS settings that reject revoked certificates.
#[derive(Clone, Debug)]
pub struct ServerAuthority {
    /// The CA service, shared with port 8140, so that the limits of concurrent work apply to both.
    pub service: CaService,
    /// TLS settings of the listeners and of the broker in this process.
    pub tls: Arc<ServerTls>,
    /// Time that the response to a revocation waits for brokers;
    /// [`defaults::REVOCATION_WAIT`](crate::defaults).
    pub revocation_wait: Duration,
}
