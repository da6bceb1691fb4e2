//! Limits and defaults, each with its reason.

/// Branches that one message of a forge tells of: GitHub tells of one, others of up to some ten.
pub const PUSHED_BRANCHES: usize = 1_000;

/// Shortest secret of webhooks, in bytes: what GitLab makes has 20.
pub const SECRET_BYTES: usize = 16;

/// Names of webhook messages that are remembered: two of each message, 40 bytes each; some days of a busy forge.
pub const DELIVERIES: usize = 8_192;
