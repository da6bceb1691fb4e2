//! The limits of this crate, with their reasons.

/// Largest document. An `auth.conf` has a few kilobytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Deepest nesting of objects and arrays, and longest dotted key; what
/// serde_json allows, and far below what the stack holds.
pub const MAX_DEPTH: usize = 128;

/// Number of values that are visited while `${…}` is resolved. Substitutions can double a value at
/// every step, so the work is bounded, not only the text.
pub const MAX_RESOLVE_STEPS: usize = 1_000_000;

/// Bytes of text that concatenation may produce, for the same reason.
pub const MAX_RESOLVED_BYTES: usize = 16 * 1024 * 1024;
