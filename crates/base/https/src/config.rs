//! What a listener is told: [`Config`], with defaults from [`crate::defaults`].

use std::time::Duration;

use admission::AdmissionLimits;

use crate::defaults;

/// Bounds of a listener.
#[derive(Debug, Clone)]
pub struct Config {
    pub handshake_timeout: Duration,
    /// Connections at the same time, in total and per network. While all of them are
    /// authenticated, more wait in the kernel's queue.
    pub admission: AdmissionLimits,
    /// Time for a request head to arrive.
    pub header_read_timeout: Duration,
    /// How long a client may take nothing of its answer.
    pub write_stall_timeout: Duration,
    /// How long requests may go on after `stop`.
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
