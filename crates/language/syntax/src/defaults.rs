//! Every limit of this crate, with its arithmetic.

/// Maximum size of a source file in bytes. Spans are 32 bits wide, and an arena node for every byte
/// (24 bytes each) would still fit the address space; the largest manifest of Debian's 77 modules
/// has 70 kB.
pub const MAX_SOURCE_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of tokens and comments of one source. A token takes 16 bytes, its node in the
/// tree 24 to 48, a name that occurs once about 80 with its entry in the table of names, and the
/// data of validation 25; so a source of this size takes about 700 MB. Real manifests have a token
/// for every five bytes, so the limit corresponds to 20 MB of them.
pub const MAX_TOKENS: usize = 4_000_000;

/// Maximum depth of `"${"${…}"}"` and of heredocs in heredocs. Each level costs the lexer three
/// stack frames, together below 2 kB, so 100 levels fit 200 kB. Real code has two.
pub const MAX_INTERPOLATION_DEPTH: usize = 100;

/// Maximum number of syntax errors reported per file; Puppet reports one. A file with more is not a
/// manifest.
pub const MAX_SYNTAX_ERRORS: usize = 50;

/// Maximum number of warnings reported per file.
pub const MAX_WARNINGS: usize = 100;

/// Nesting that is parsed on the caller's stack. A level of brackets counts two and takes at most 5
/// kB in an unoptimised build, so 100 need 250 kB. The deepest of 4,014 real manifests has 34.
pub const SHALLOW_DEPTH: u32 = 100;

/// Maximum nesting that is parsed, about 2,000 brackets. Puppet 7 overflows its stack between 1,000
/// and 2,000 lists, parentheses or blocks, and between 600 and 800 hashes.
pub const MAX_DEPTH: u32 = 4_000;

/// Stack size in bytes of the thread that parses deeper nesting. [`MAX_DEPTH`] times 2.5 kB, the
/// measure of [`SHALLOW_DEPTH`], is 10 MB; this is three times that. Only the used part takes
/// memory.
pub const DEEP_STACK_BYTES: usize = 32 * 1024 * 1024;

/// Maximum number of validation errors reported per file.
pub const MAX_VALIDATION_FAULTS: usize = 100;

/// Maximum number of bytes of a key shown in a message about it. A terminal line has about a
/// hundred characters, and a key may be as long as its file.
pub const MAX_LITERAL_TEXT_BYTES: usize = 1_024;
