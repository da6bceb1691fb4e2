//! Every bound of the crate, with its reason.

/// How deep the question whether one type takes another may go. Each level is one nesting of a type or
/// one step into an alias; types in modules nest less than 10. A question that goes deeper is one about
/// aliases that hold themselves in different ways, where Puppet overflows its stack; it is taken for
/// answered by yes, as recursion is everywhere. 128 levels of about 300 bytes stay below 64 kB.
pub(crate) const CHECK_DEPTH_MAX: u32 = 128;

/// How many elements a conversion may make out of one number or range: `Array(1000000)`. Puppet has no
/// bound and eats all memory. A million values are 24 MB.
pub const CONVERTED_ELEMENTS_MAX: usize = 1_000_000;

/// How long a text made by a format may be: `String(1, '%9999999999d')` asks for 10 GB.
pub const FORMATTED_WIDTH_MAX: usize = 1_000_000;

/// How many parents an object type may have. Real ones have fewer than 5; a loop of parents is refused
/// when the last of them is defined, and this ends walks along one that was not found.
pub(crate) const OBJECT_PARENTS_MAX: usize = 64;
