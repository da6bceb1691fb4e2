//! The limits of this crate, with their reasons.

/// Maximum number of elements that `range` makes, as in stdlib.
pub const RANGE_ELEMENTS_MAX: usize = 1_000_000;

/// Maximum number of digits that `convert_base` accepts: the work is the square of their number, a
/// million steps.
pub const BASE_DIGITS_MAX: usize = 1_000;

/// Maximum nesting of lists and hashes in values that are written as JSON, YAML, TOML or code: the
/// limit of Ruby's JSON. Writing recurses, and a plan's stack is small.
pub const NESTING_MAX: usize = 100;

/// Maximum cost of bcrypt, a power of two: 14 takes about a second, and each step twice as long.
pub const BCRYPT_COST_MAX: u32 = 14;
