//! The limits of this crate, with their reasons.

/// Elements that `range` makes, as in stdlib.
pub const RANGE_ELEMENTS_MAX: usize = 1_000_000;

/// Digits that `convert_base` takes: the work is the square of their number, a million steps.
pub const BASE_DIGITS_MAX: usize = 1_000;

/// Lists and hashes inside each other in what is written as JSON, YAML, TOML or code: the limit of Ruby's
/// JSON. Writing recurses, and a plan's stack is small.
pub const NESTING_MAX: usize = 100;

/// The cost of bcrypt, a power of two: 14 takes about a second, and each step twice as long.
pub const BCRYPT_COST_MAX: u32 = 14;
