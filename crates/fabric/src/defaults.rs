//! Every bound of the fabric, with its arithmetic.

/// Messages from nodes that wait for the engine. A result message is typically 1-2 KB, so a full
/// inbox holds some 16 MB; then brokers stop reading from the nodes that send.
pub const INBOX_MESSAGES: usize = 8_192;

/// Presence changes kept for a slow watcher. One reconnect storm of 50,000 nodes is two changes
/// each; a watcher that falls behind is told so and reads the whole inventory again.
pub const PRESENCE_CHANGES: usize = 4_096;
