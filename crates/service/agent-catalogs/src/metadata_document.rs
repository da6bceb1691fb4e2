//! The metadata of a file as agents read it: [`MetadataDocument`].
//!
//! Owner and group are always those of root: the owner of a file on the server, often the server's own
//! user, means another user on the node, or none.

use environments::{FileMetadata, LinkHandling, ServedFileKind};
use serde::Serialize;

use crate::ChecksumType;

/// User and group of root.
const ROOT: u32 = 0;

/// Metadata with the keys of Puppet, in its order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetadataDocument {
    path: String,
    relative_path: Option<String>,
    links: &'static str,
    owner: u32,
    group: u32,
    mode: u32,
    checksum: ChecksumDocument,
    #[serde(rename = "type")]
    kind: &'static str,
    destination: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_uri: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct ChecksumDocument {
    #[serde(rename = "type")]
    kind: &'static str,
    value: String,
}

impl MetadataDocument {
    /// Metadata of a file with this checksum, which is of the type.
    #[must_use]
    pub fn new(
        file: &FileMetadata,
        links: LinkHandling,
        checksum_type: ChecksumType,
        checksum: String,
    ) -> Self {
        let (kind, destination) = match &file.kind {
            ServedFileKind::File { .. } => ("file", None),
            ServedFileKind::Directory => ("directory", None),
            ServedFileKind::Link { destination } => ("link", Some(destination.clone())),
        };
        Self {
            path: file.path.to_string_lossy().into_owned(),
            relative_path: None,
            links: match links {
                LinkHandling::Manage => "manage",
                LinkHandling::Follow => "follow",
            },
            owner: ROOT,
            group: ROOT,
            mode: file.mode,
            checksum: ChecksumDocument {
                kind: checksum_type.of_kind(&file.kind).as_str(),
                value: checksum,
            },
            kind,
            destination,
            source: None,
            content_uri: None,
        }
    }

    /// The metadata as a part of a tree: with its path below the requested one, which is the `path`.
    #[must_use]
    pub fn below(self, top: String, relative_path: &str) -> Self {
        let relative = match relative_path {
            "" => ".",
            below => below,
        };
        Self {
            path: top,
            relative_path: Some(relative.to_owned()),
            ..self
        }
    }

    /// The metadata as a part of a catalog.
    #[must_use]
    pub fn in_catalog(self, source: String, content_uri: Option<String>) -> Self {
        Self {
            source: Some(source),
            content_uri,
            ..self
        }
    }
}
