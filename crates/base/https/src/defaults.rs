//! Limits and timeouts of this crate, with their reasons.

use std::time::Duration;

/// Time for a whole TLS handshake. On a loaded server one RSA-4096 handshake
/// waits behind others; ten seconds are more than any honest client needs.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of handshakes of a listener that are computed at the same time, at least two. One network
/// never occupies all of them, because its handshakes are computed one at a time.
pub fn max_concurrent_handshakes() -> usize {
    std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2))
}

/// Bytes that a client may send before its handshake is done. A chain of four RSA-4096
/// certificates is 7 KB, a hello with a post-quantum key share 2 KB. The client may send its request
/// together with the end of the handshake, and then the whole first record of the request, up to 16.6
/// KB, is read before the handshake counts as done: 26 KB, and one read of 4 KB more.
pub const HANDSHAKE_BYTES: usize = 32 * 1024;

/// Maximum number of concurrent connections. Ten thousand nodes that fetch a task file at once keep
/// a connection each for moments; more wait in the kernel's queue.
pub const MAX_CONNECTIONS: usize = 10_000;

/// Time for a request's head to arrive, also on a kept-alive connection.
pub const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Time after which a connection is closed if the client reads nothing of its reply. TCP itself
/// would wait for a quarter of an hour or more, and forever for a client that acknowledges without
/// reading.
pub const WRITE_STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// At most one log line about failed handshakes in this time: any client can cause them.
pub const HANDSHAKE_SUMMARY_INTERVAL: Duration = Duration::from_secs(60);

/// Time that running requests have to finish after the listener was stopped.
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(10);

/// Largest request head that hyper buffers.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Pause after accept failed for want of file descriptors or memory, so that
/// the loop does not spin until some are free.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
