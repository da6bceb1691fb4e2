//! The limits of one listener: [`AdmissionLimits`].

use std::time::Duration;

use crate::defaults;

/// Limits of one listener, with defaults from [`crate::defaults`].
#[derive(Debug, Clone)]
pub struct AdmissionLimits {
    /// Connections of all networks whose peers are not known yet.
    pub half_open: usize,
    /// Half-open connections of one network (an IPv4 address or an IPv6 /64) at once.
    pub half_open_per_network: usize,
    /// All connections that hold an [`AdmissionPermit`](crate::AdmissionPermit), authenticated or
    /// not.
    pub connections: usize,
    /// Time from accept to the first byte.
    pub first_byte: Duration,
    /// Age from which a handshake may be dropped if its network is at its limit.
    pub handshake_patience: Duration,
    /// Handshakes of one network that are computed at the same time.
    pub handshakes_per_network: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self {
            half_open: defaults::HALF_OPEN,
            half_open_per_network: defaults::HALF_OPEN_PER_NETWORK,
            connections: usize::MAX,
            first_byte: defaults::FIRST_BYTE,
            handshake_patience: defaults::HANDSHAKE_PATIENCE,
            handshakes_per_network: 1,
        }
    }
}
