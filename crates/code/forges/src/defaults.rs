//! Limits and defaults, each with its reason.

/// Most branches in one webhook: GitHub sends one, others up to about ten.
pub const PUSHED_BRANCHES: usize = 1_000;

/// Shortest secret of webhooks, in bytes: those that GitLab generates have 20.
pub const SECRET_BYTES: usize = 16;

/// Replay ids that are remembered: two for each webhook, 40 bytes each; some days of a busy forge.
pub const DELIVERIES: usize = 8_192;
