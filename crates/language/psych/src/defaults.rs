//! The limits of this crate, with their reasons.

/// Largest document in bytes. Data files of Hiera have kilobytes; the largest seen has one
/// megabyte.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Maximum number of bytes read of one document, counting repeated reads. It is read again for each
/// position where blanks are repaired for the parser: about 100 times for a document of 100 KB;
/// most have no such position.
pub const MAX_READ_BYTES: usize = 4 * 1024 * 1024;

/// Deepest nesting. Documents written by hand have ten levels; code that reads the tree may
/// recurse, also on the small stack of a plan.
pub const MAX_DEPTH: usize = 100;

/// Maximum number of values of a document; the values behind an alias count each time. A value
/// takes about 70 bytes, so this is 70 MB; an alias itself shares the values of its anchor.
pub const MAX_NODES: usize = 1_000_000;

/// Maximum number of digits of an integer: converting a number to decimal takes the square of its
/// length.
pub const MAX_NUMBER_BYTES: usize = 1000;

/// Maximum number of warnings; a file with more contains one mistake many times.
pub const MAX_WARNINGS: usize = 100;

/// Largest text in bytes that is written: no larger than a document that can be read.
pub const MAX_EMIT_BYTES: usize = MAX_BYTES;

/// Deepest nesting that is written: no deeper than a document that can be read, since writing
/// recurses too.
pub const MAX_EMIT_DEPTH: usize = MAX_DEPTH;
