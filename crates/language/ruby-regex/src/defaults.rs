//! The limits of this crate, with their reasons.

use std::time::Duration;

/// Longest pattern in bytes. The longest of 542 patterns in public modules has about 1,000 bytes; a
/// pattern made of a long list of names joined with `|` may be much longer.
pub const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// Deepest nesting of groups and of brackets, and of options like `(?i)` in a pattern, each of
/// which nests the rest of the pattern. The compiler recurses: 100 levels take up to 1 MB of stack
/// in a debug build and 300 KB in a release build, and the stack of a plan's coroutine is small.
/// Patterns written by hand have three or four.
pub const MAX_DEPTH: usize = 40;

/// Maximum number of backtracks within one search. They are counted and not timed, so that a plan
/// that is evaluated again fails at the same point. Each takes 10 to 70 ns, so the longest search
/// takes less than a second.
pub const MAX_BACKTRACKS: u64 = 10_000_000;

/// Maximum number of choice points of one search, each of about 48 bytes: 96 MB.
pub const MAX_CHOICE_POINTS: u32 = 2_000_000;

/// Timeout of a search as a last resort: for work that does not backtrack, such as a run of one
/// character that is scanned from each of its positions, in a text of megabytes.
pub const MAX_SEARCH_TIME: Duration = Duration::from_secs(10);

/// Maximum size in bytes of the text that one replacement may produce, such as `\0\0\0` for a large
/// file.
pub const MAX_REPLACED_BYTES: usize = 64 * 1024 * 1024;

/// Number of compiled patterns in a cache. All manifests of 114 public modules have 542.
pub const CACHED_PATTERNS: usize = 1024;
