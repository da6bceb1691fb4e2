//! The limits of this crate, with their reasons.

/// Largest document. Data files of Hiera have kilobytes; the largest seen has one megabyte.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Bytes that are read of one document before it is given up. It is read again for each place
/// where blanks are put right for the parser: some 100 times, if it has 100 KB; most have no such place.
pub const MAX_READ_BYTES: usize = 4 * 1024 * 1024;

/// Deepest nesting. People write ten levels; what reads the tree may recurse, also on the small
/// stack of a plan.
pub const MAX_DEPTH: usize = 100;

/// Values of a document, with what aliases stand for counted each time. A value takes about
/// 70 bytes, so 70 MB; an alias itself shares what it stands for.
pub const MAX_NODES: usize = 1_000_000;

/// Most digits of an integer: writing a number out in decimal takes the square of its length.
pub const MAX_NUMBER_BYTES: usize = 1000;

/// Warnings that are kept; a file with more has one mistake made many times.
pub const MAX_WARNINGS: usize = 100;

/// Largest text that is written: no larger than what is read.
pub const MAX_EMIT_BYTES: usize = MAX_BYTES;

/// Deepest nesting that is written: no deeper than what is read, since writing recurses too.
pub const MAX_EMIT_DEPTH: usize = MAX_DEPTH;
