//! Every limit of this crate, with its arithmetic.

/// A source file may have this many bytes. Spans are 32 bits wide, and an arena node for every byte
/// (24 bytes each) would still fit the address space; the largest manifest of Debian's 77 modules
/// has 70 kB.
pub const MAX_SOURCE_BYTES: usize = 64 * 1024 * 1024;

/// `"${"${…}"}"` and heredocs in heredocs: each level costs the lexer three stack frames, together
/// below 2 kB, so 100 levels fit 200 kB. Real code has two.
pub const MAX_INTERPOLATION_DEPTH: usize = 100;
