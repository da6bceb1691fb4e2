//! The limits of this crate, with their reasons.

/// Maximum number of properties, and of parameters, of one type. The largest types known have some
/// two hundred.
pub const MAX_ATTRIBUTES: usize = 10_000;
