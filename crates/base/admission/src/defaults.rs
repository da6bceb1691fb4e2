//! Limits and timeouts of this crate, with their arithmetic.

use std::time::Duration;

/// Length of the kernel's accept queue of every listener: a reconnect storm waits there instead of
/// being refused. Linux caps it at `net.core.somaxconn`, which is 4,096 as well.
pub const BACKLOG: u32 = 4_096;

/// Half-open connections of one listener. Beside a descriptor and the kernel's socket, one costs at
/// most 16 KB in the middle of a handshake, which `cargo xtask bench fairness` measures, and 32 KB if
/// its client sends all that it may before the end. 4,096 × 32 KB = 128 MB at the very worst.
pub const HALF_OPEN: usize = 4_096;

/// Half-open connections of one network: three quarters, so a single network never fills the
/// listener, and a site behind one address can still reconnect by the thousand.
pub const HALF_OPEN_PER_NETWORK: usize = HALF_OPEN / 4 * 3;

/// Time from accept to the first byte. A client sends as soon as it is connected, so this covers a
/// lost packet (1 s) and its second loss (2 s more).
pub const FIRST_BYTE: Duration = Duration::from_secs(3);

/// Age from which a handshake may be dropped if its network is at its limit. Known agents give an
/// attempt up after 5 s, so no live handshake is lost.
pub const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(5);

/// At most one log line about dropped connections in this time: any client can cause them.
pub const SUMMARY_INTERVAL: Duration = Duration::from_secs(60);
