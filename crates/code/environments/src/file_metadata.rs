//! Metadata of files that are served to nodes: [`FileMetadata`], [`FileTreeRequest`].
//!
//! Invariant: a relative path consists of names only; it is empty for the requested file itself.

use std::path::PathBuf;

use partial_debug::partial_debug;
use pxp::action::Sha256;

use crate::FileMount;

/// The treatment of symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkHandling {
    /// A link is described as a link.
    Manage,
    /// A link is described as the file that it leads to, which must be in the same module.
    Follow,
}

/// The kind of a served file, with what is particular to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServedFileKind {
    File {
        sha256: Sha256,
        size_bytes: u64,
    },
    Directory,
    /// A symbolic link; `destination` is its text.
    Link {
        destination: String,
    },
}

/// The properties of a served file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// Path below the requested one; empty for the requested file itself.
    pub relative_path: String,
    /// Path on the server's disk.
    pub path: PathBuf,
    /// Permission bits of the file, or of the target of a link that is followed.
    pub mode: u32,
    /// Time of the last change of the inode, in seconds of the epoch.
    pub changed_seconds: i64,
    pub kind: ServedFileKind,
}

/// A request for the metadata of a file and of all below it.
#[derive(Clone, Copy, Debug)]
pub struct FileTreeRequest<'a> {
    pub mount: FileMount,
    /// The module; `None` where [`FileMount::has_modules`] is false.
    pub module: Option<&'a str>,
    /// The path is below the module's directory of the mount.
    pub tree: FileTreeOptions<'a>,
}

/// A file, and the part of what is below it.
#[derive(Clone, Copy)]
pub struct FileTreeOptions<'a> {
    /// Path below a directory; empty for that directory.
    pub path: &'a str,
    pub links: LinkHandling,
    /// Levels of directories below the path: 0 for the file itself only, `None` for all.
    pub depth_max: Option<usize>,
    /// Number of files above which the request fails.
    pub files_max: usize,
    /// True for names that are left out, with all below them.
    pub is_ignored: &'a dyn Fn(&str) -> bool,
}

partial_debug!(FileTreeOptions<'_> { path, links });
