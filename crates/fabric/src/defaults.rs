//! Every bound of the fabric, with its arithmetic.

/// Messages from nodes that wait for the engine. A result message is typically 1-2 KB, so a full
/// inbox holds some 16 MB; then brokers stop reading from the nodes that send.
pub const INBOX_MESSAGES: usize = 8_192;

/// Presence changes kept for a slow watcher. One reconnect storm of 50,000 nodes is two changes
/// each; a watcher that falls behind is told so and reads the whole inventory again.
pub const PRESENCE_CHANGES: usize = 4_096;

/// Messages to one remote broker that wait for its connection: 1,024 × 2 KB = 2 MB typically, and
/// far more only with large task parameters, which [`REMOTE_PATIENCE`] bounds in time.
pub const REMOTE_QUEUE_MESSAGES: usize = 1_024;

/// How long a message waits for room in that queue before the sender is told.
pub const REMOTE_PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
