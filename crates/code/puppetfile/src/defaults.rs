//! The limits of this parser, each with its derivation.

/// Largest Puppetfile in bytes: the largest seen declare some 300 modules in 60 KB.
pub const MAX_BYTES: usize = 4 << 20;

/// Most errors that are reported for one file; further ones are reported once these are fixed.
pub const MAX_MISTAKES: usize = 20;

/// Deepest nesting of lists and hashes; options of modules are flat.
pub const MAX_DEPTH: usize = 32;

/// Longest text of one constant after interpolation: a line that doubles a name forty times must
/// not exhaust the memory.
pub const MAX_TEXT_BYTES: usize = 64 << 10;
