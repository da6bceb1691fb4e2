//! Limits of the fabric, with their arithmetic.

/// Maximum number of messages from nodes that wait for the engine. A result message is typically
/// 1-2 KB, so a full inbox holds about 16 MB; brokers then stop reading from the sending nodes.
pub const INBOX_MESSAGES: usize = 8_192;

/// Maximum bytes of the same messages, so that a full inbox of large results does not fill the
/// memory: four of the largest messages (64 MiB). A message counts [`INBOX_MESSAGE_COST`] more
/// than its data, and never more than this limit, so that each one passes once the inbox is empty.
pub const INBOX_BYTES: usize = 256 * 1024 * 1024;

/// Bytes counted for a waiting message in addition to its data: addresses, type and id, rounded up.
/// 8,192 × 1 KiB are 8 MiB, so for small messages their number is the bound.
pub const INBOX_MESSAGE_COST: usize = 1_024;

/// Presence changes kept for a slow watcher. One reconnect storm of 50,000 nodes is two changes
/// each; a watcher that falls behind gets an error and reads the whole inventory again.
pub const PRESENCE_CHANGES: usize = 4_096;

/// Nodes whose last disconnection is remembered: twice the largest fleet, some 100 bytes each.
/// Beyond that, only the time of a disconnection is not known.
pub const GONE_NODES: usize = 100_000;

/// Messages to one remote broker that wait for its connection: 1,024 × 2 KB = 2 MB typically, and
/// far more only with large task parameters, which [`REMOTE_PATIENCE`] bounds in time.
pub const REMOTE_QUEUE_MESSAGES: usize = 1_024;

/// Time that a message waits for space in that queue before the sender gets an error.
pub const REMOTE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
