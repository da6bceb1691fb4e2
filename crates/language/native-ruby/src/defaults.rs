//! Limits of the native reader of templates and functions. What exceeds them goes to Ruby.

/// Length of a template: the longest of 529 published ones has 60 kB.
pub(crate) const TEMPLATE_MAX: usize = 1024 * 1024;

/// Nesting of expressions and statements while a template is parsed: 64 levels of brackets with the about
/// eight levels of the grammar that each of them takes, within a stack of 2 MB.
pub(crate) const PARSE_DEPTH_MAX: usize = 64;

/// Operators of one level, calls and modifiers in a row: each is a level of the tree, and 64 levels of
/// brackets with these are dropped within a stack of 2 MB.
pub(crate) const CHAIN_MAX: usize = 60;

/// Nesting of expressions while a template is rendered: each takes up to 10 kB of a stack of 2 MB in
/// unoptimised builds.
pub(crate) const RENDER_DEPTH_MAX: usize = 100;

/// Nesting of values that are compared, joined or printed.
pub(crate) const VALUE_DEPTH_MAX: usize = 64;

/// Expressions that a template evaluates: about a second.
pub(crate) const STEPS_MAX: u64 = 10_000_000;

/// Rendered text, and each text on the way.
pub(crate) const TEXT_MAX: usize = 16 * 1024 * 1024;

/// Elements of an array that a template creates.
pub(crate) const ELEMENTS_MAX: usize = 1_000_000;

/// Width of a field in a format, and digits after the point.
pub(crate) const FORMAT_WIDTH_MAX: usize = 1000;

/// Variables of a template.
pub(crate) const LOCALS_MAX: usize = 10_000;

/// Digits of a text that is read as a float: Ruby cuts longer ones.
pub(crate) const FLOAT_DIGITS_MAX: usize = 40;

/// Dispatches and methods of a function; the longest of Debian's modules has 12.
pub(crate) const FUNCTION_PARTS_MAX: usize = 200;
