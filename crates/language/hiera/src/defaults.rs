//! The limits of this crate, with their reasons.

/// Lookups and interpolations within each other. Each takes some kilobytes of stack, and a plan has
/// a small one; people nest three or four.
pub const MAX_NESTING: usize = 40;

/// Parts of one lookup: a layer that is searched and an expression that is filled in are one each.
/// Data that refer to data need some hundreds; a part takes some 20 µs, so this is less than a second.
pub const MAX_PARTS: usize = 20_000;

/// Files that a cache holds. A control repository with a file for every node has thousands; a parsed
/// file of Hiera's takes some tens of kilobytes.
pub const CACHED_FILES: usize = 4096;

/// Text that one interpolation may produce: lookups that contain each other twice would double it
/// with every level.
pub const MAX_INTERPOLATED_BYTES: usize = 16 * 1024 * 1024;

/// Paths that one pattern may match: a place of a hierarchy each.
pub const GLOBBED_PATHS: usize = 10_000;

/// Directories below each other that `**` goes into; a link may lead upwards.
pub const GLOB_DEPTH: usize = 32;

/// Patterns that one pattern with braces stands for.
pub const GLOB_ALTERNATIVES: usize = 1000;
