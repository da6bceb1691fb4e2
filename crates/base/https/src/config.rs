//! Configuration of a listener: [`Config`], with defaults from [`crate::defaults`].

use std::time::Duration;

use admission::AdmissionLimits;

use crate::defaults;

/// Limits of a listener.
#[derive(Debug, Clone)]
pub struct Config {
    /// Timeout for a whole TLS handshake.
    pub handshake_timeout: Duration,
    /// Connections at the same time, in total and per network. While all of them are
    /// authenticated, more wait in the kernel's queue.
    pub admission: AdmissionLimits,
    /// Timeout for the arrival of a request head.
    pub header_read_timeout: Duration,
    /// Time after which a connection is closed if the client reads nothing of its reply.
    pub write_stall_timeout: Duration,
    /// Time that running requests have to finish after `stop`.
    pub drain_deadline: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            handshake_timeout: defaults::HANDSHAKE_TIMEOUT,
            admission: AdmissionLimits {
                connections: defaults::MAX_CONNECTIONS,
                ..AdmissionLimits::default()
            },
            header_read_timeout: defaults::HEADER_READ_TIMEOUT,
            write_stall_timeout: defaults::WRITE_STALL_TIMEOUT,
            drain_deadline: defaults::DRAIN_DEADLINE,
        }
    }
}
