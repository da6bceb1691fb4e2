//! Every limit of this crate, with its arithmetic.

/// A source file may have this many bytes. Spans are 32 bits wide, and an arena node for every byte
/// (24 bytes each) would still fit the address space; the largest manifest of Debian's 77 modules
/// has 70 kB.
pub const MAX_SOURCE_BYTES: usize = 64 * 1024 * 1024;

/// Tokens and comments of one source. A token has 16 bytes, what the parser makes of it 24 to 48, a name that is
/// written once some 80 with its entry in the table of names, and what validation knows of it 25: so a source that is
/// as large as this takes some 700 MB. Real manifests have a token for every five bytes, so it is 20 MB of them.
pub const MAX_TOKENS: usize = 4_000_000;

/// `"${"${…}"}"` and heredocs in heredocs: each level costs the lexer three stack frames, together
/// below 2 kB, so 100 levels fit 200 kB. Real code has two.
pub const MAX_INTERPOLATION_DEPTH: usize = 100;

/// Syntax errors of one file that are reported; Puppet reports one. More than this is no manifest.
pub const MAX_SYNTAX_ERRORS: usize = 50;

/// Warnings of one file that are reported.
pub const MAX_WARNINGS: usize = 100;

/// Nesting that is parsed on the caller's stack: a level of brackets counts two and takes at most
/// 5 kB of an unoptimised build, so 100 need 250 kB. Of 4,014 real manifests the deepest has 34.
pub const SHALLOW_DEPTH: u32 = 100;

/// Nesting that is parsed at all, some 2,000 brackets. Puppet 7 runs out of its stack between 1,000 and
/// 2,000 lists, parentheses or blocks, and between 600 and 800 hashes.
pub const MAX_DEPTH: u32 = 4_000;

/// The stack of the thread that parses what nests more: [`MAX_DEPTH`] times 2.5 kB, the measure of
/// [`SHALLOW_DEPTH`], is 10 MB; three times that. Only what is used takes memory.
pub const DEEP_STACK_BYTES: usize = 32 * 1024 * 1024;

/// Faults of validation of one file that are reported.
pub const MAX_VALIDATION_FAULTS: usize = 100;

/// Bytes of a key that a message about it shows: a line on a terminal is some hundred, and a key may be as long as
/// its file.
pub const MAX_LITERAL_TEXT_BYTES: usize = 1_024;
