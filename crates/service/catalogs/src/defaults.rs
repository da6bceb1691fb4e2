//! Limits of the files of an environment on disk.

/// Bytes of one file. Manifests and data in the field have at most 1 MB; a file is read as a whole.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// Depth of directories below the manifest directory of an environment.
pub const MANIFEST_DEPTH_MAX: usize = 32;

/// Number of manifests in the manifest directory of an environment.
pub const MANIFESTS_MAX: usize = 10_000;
