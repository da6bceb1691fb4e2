//! The limits of this crate, with their reasons.

/// Maximum nesting of lookups and interpolations. Each takes some kilobytes of stack, and a plan
/// has a small one; real data nest three or four.
pub const MAX_NESTING: usize = 40;

/// Maximum number of parts of one lookup: each searched layer and each interpolated expression is
/// one. Data that refer to data need some hundreds; a part takes about 20 µs, so the maximum takes
/// less than a second.
pub const MAX_PARTS: usize = 20_000;

/// Keys with values that a session records for those who ask what a catalog depends on. A large catalog has some
/// hundreds; each takes about 60 bytes.
pub const FOUND_KEYS_MAX: usize = 2_000;

/// Number of files in a cache. A control repository with a file for every node has thousands; a
/// parsed file of Hiera's takes some tens of kilobytes.
pub const CACHED_FILES: usize = 4096;

/// Maximum size in bytes of the text of one interpolation. Lookups that contain each other twice
/// would double it with every level.
pub const MAX_INTERPOLATED_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of paths that one pattern may match; each is a location of a hierarchy.
pub const GLOBBED_PATHS: usize = 10_000;

/// Maximum depth of directories that `**` descends into; a link may lead upwards.
pub const GLOB_DEPTH: usize = 32;

/// Maximum number of patterns to which one pattern with braces may expand.
pub const GLOB_ALTERNATIVES: usize = 1000;
