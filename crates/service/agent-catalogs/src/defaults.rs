//! Limits of this crate, with their reasons.

/// Files below one source of a resource. Each takes some 400 bytes in the catalog, so 40 MB; Puppet warns
/// from 1,000 on.
pub const STATIC_FILES_MAX: usize = 100_000;

/// Catalogs of one node that are kept: that of the running Puppet run, and two before, whose files an agent
/// that starts late, or runs from its cache, may still request.
pub const CATALOGS_EACH_MAX: usize = 3;

/// Bytes of all kept catalogs in memory. A catalog has some 50 to 400 KB as text and a tenth of it compressed, so
/// those of 20,000 nodes. A node whose catalogs were given up has them compiled again.
pub const KEPT_BYTES_MAX: usize = 512 << 20;
