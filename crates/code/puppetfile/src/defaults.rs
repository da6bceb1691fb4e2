//! Every bound of this reader, with its arithmetic.

/// Largest Puppetfile: the largest that are seen name some 300 modules in 60 KB.
pub const MAX_BYTES: usize = 4 << 20;

/// Mistakes that are told of one file; who mends ten sees the next.
pub const MAX_MISTAKES: usize = 20;

/// Lists and hashes inside each other; options of modules are flat.
pub const MAX_DEPTH: usize = 32;

/// Text that one constant may grow to when others are put into it: a line that doubles a name forty times
/// must not fill the memory.
pub const MAX_TEXT_BYTES: usize = 64 << 10;
