//! The limits of this crate, with their reasons.

use std::time::Duration;

/// Longest pattern. The longest of 542 patterns in public modules has about 1,000 bytes; a pattern
/// made of a long list of names joined with `|` may be much longer.
pub const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// Deepest nesting of groups and of brackets, and options like `(?i)` in a pattern, each of which
/// nests what follows. The compiler recurses: 100 levels take up to 1 MB of stack in a debug build
/// and 300 KB in a release, and the stack of a plan's coroutine is small. People write three or four.
pub const MAX_DEPTH: usize = 40;

/// Backtracks within one search. Counted and not timed, so that a plan that is evaluated again
/// meets the same end. Each takes 10 to 70 ns, so the longest search takes less than a second.
pub const MAX_BACKTRACKS: u64 = 10_000_000;

/// Choice points that one search keeps, of about 48 bytes: 96 MB.
pub const MAX_CHOICE_POINTS: u32 = 2_000_000;

/// The last resort: work that does not backtrack, such as a run of one character that is
/// walked over from each of its places, in a text of megabytes.
pub const MAX_SEARCH_TIME: Duration = Duration::from_secs(10);

/// Text that one replacement may produce: what `\0\0\0` makes of a large file.
pub const MAX_REPLACED_BYTES: usize = 64 * 1024 * 1024;

/// Compiled patterns that a cache keeps. All manifests of 114 public modules have 542.
pub const CACHED_PATTERNS: usize = 1024;
