//! Limits of this crate, with their reasons.

/// Files below one source of a resource. Each takes some 400 bytes in the catalog, so 40 MB; Puppet warns
/// from 1,000 on.
pub const STATIC_FILES_MAX: usize = 100_000;
