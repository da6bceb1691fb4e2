//! Limits of local commands, each with its reason.

/// Length limit of a line of an exported audit: an entry has 8 KiB of details, which JSON may
/// double, and names.
pub(crate) const AUDIT_LINE_BYTES: u64 = 256 << 10;

/// Depth limit of a validated directory: a module has six levels, an environment nine.
pub(crate) const SOURCE_DEPTH_MAX: usize = 64;

/// Number of nodes whose catalogs one command compares: ten times the largest sites of one
/// puppetserver. A node takes its name and its place in a group, about 200 bytes.
pub(crate) const COMPARED_NODES_MAX: usize = 100_000;
