//! Every bound of the crate, with its reason.

/// Maximum depth of an assignability check. A level is one nesting of a type or one step into an
/// alias; types in modules nest less than 10 deep. A deeper check concerns aliases that contain
/// themselves in different ways, for which Puppet overflows its stack; its result is true, as in
/// other recursions. 128 levels of about 300 bytes stay below 64 kB.
pub(crate) const CHECK_DEPTH_MAX: u32 = 128;

/// Maximum number of elements that a conversion creates from one number or range: `Array(1000000)`.
/// Puppet has no limit and exhausts memory. A million values are 24 MB.
pub const CONVERTED_ELEMENTS_MAX: usize = 1_000_000;

/// Maximum length of a formatted text in bytes: `String(1, '%9999999999d')` would be 10 GB.
pub const FORMATTED_WIDTH_MAX: usize = 1_000_000;

/// Maximum number of ancestors of an object type. Real ones have fewer than 5. A cycle of parents
/// is refused when its last type is defined; this limit ends walks along a cycle that was not
/// found.
pub(crate) const OBJECT_PARENTS_MAX: usize = 64;
