//! The limits of this crate, with their reasons.
//!
//! Invariant: each limit bounds the time or the memory that one type takes.

/// Maximum number of properties, and of parameters, of one type. The largest types known have some
/// two hundred.
pub const MAX_ATTRIBUTES: usize = 10_000;

/// Maximum size in bytes of a type file in Ruby, and of each file that it requires. The largest
/// type file known has 90 kB.
pub const MAX_RUBY_BYTES: usize = 1024 * 1024;

/// Maximum nesting of texts in interpolations. Each level takes
/// less than a kilobyte of stack; real files nest two or three.
pub const MAX_RUBY_NESTING: usize = 32;

/// Maximum nesting of lists and hashes in the schema of a transport; real ones nest three.
pub const MAX_TRANSPORT_DEPTH: usize = 32;

/// Maximum number of heredocs that begin on one line; real files begin one.
pub const MAX_HEREDOCS_PER_LINE: usize = 16;

/// Maximum number of tokens in the parameters of a method; it bounds the search for their end.
pub const MAX_PARAMETER_TOKENS: usize = 200;

/// Maximum number of files that are searched for declarations on behalf of one type: its providers,
/// and files that it requires.
pub const MAX_SEARCHED_FILES: usize = 200;

/// Maximum size in bytes of the code that loops over lists of names repeat, each body counted once
/// for each name: checking a megabyte takes less than a tenth of a second. Real loops repeat some
/// ten kilobytes.
pub const MAX_LOOP_BYTES: usize = 1024 * 1024;
