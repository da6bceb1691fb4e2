//! The last catalog of this node, as Puppet keeps it on disk: [`CachedCatalog`].
//!
//! Invariant: a file is expected only if all that the catalog says of it is understood; everything else is
//! counted as left to Puppet.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pxp::action::CodeId;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::expected_file::{ExpectedFile, FileSource};
use crate::defaults::CACHED_CATALOG_BYTES;

/// A catalog, with what it says of files.
#[derive(Debug)]
pub(super) struct CachedCatalog {
    pub(super) certname: String,
    pub(super) environment: String,
    /// Id that the compilation gave it.
    pub(super) catalog_uuid: String,
    pub(super) code_id: Option<CodeId>,
    /// The configuration version, as text.
    pub(super) version: String,
    /// SHA-256 of the document, as hexadecimal digits.
    pub(super) digest: String,
    /// The files to check.
    pub(super) files: Vec<ExpectedFile>,
    /// Paths of all resources of the type File, also of those that are left to Puppet.
    pub(super) declared: HashSet<PathBuf>,
    /// Number of resources, without classes and stages.
    pub(super) resources: usize,
}

/// Reason that a catalog is of no use here.
#[derive(Debug, thiserror::Error)]
pub(super) enum CachedCatalogError {
    #[error("the last catalog cannot be read from {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the last catalog, {}, has more than {CACHED_CATALOG_BYTES} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("the last catalog, {}, is not one: {source}", path.display())]
    Document {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("the last catalog, {}, has no id", path.display())]
    NoId { path: PathBuf },
}

/// The document of a catalog, as far as it is used.
#[derive(Debug, Deserialize)]
struct CatalogDocument {
    name: String,
    version: Value,
    #[serde(default)]
    code_id: Option<CodeId>,
    #[serde(default)]
    catalog_uuid: Option<String>,
    environment: String,
    resources: Vec<ResourceDocument>,
    #[serde(default)]
    metadata: BTreeMap<String, SourceMetadata>,
    #[serde(default)]
    recursive_metadata: BTreeMap<String, BTreeMap<String, Vec<SourceMetadata>>>,
}

#[derive(Debug, Deserialize)]
struct ResourceDocument {
    #[serde(rename = "type")]
    resource_type: String,
    title: String,
    #[serde(default)]
    exported: bool,
    #[serde(default)]
    parameters: Map<String, Value>,
}

/// What a static catalog says of a file of the server.
#[derive(Debug, Deserialize)]
pub(super) struct SourceMetadata {
    /// Path below the requested directory; `.` for that directory itself.
    #[serde(default)]
    pub(super) relative_path: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) destination: Option<String>,
    pub(super) checksum: SourceChecksum,
}

#[derive(Debug, Deserialize)]
pub(super) struct SourceChecksum {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// The type in braces, and the value.
    pub(super) value: String,
}

impl CachedCatalog {
    /// Reads the catalog that Puppet keeps for this node.
    pub(super) fn read(path: &Path) -> Result<Self, CachedCatalogError> {
        let read = |source| CachedCatalogError::Read {
            path: path.to_owned(),
            source,
        };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(read)?;
        let mut file = file.take(CACHED_CATALOG_BYTES + 1);
        file.read_to_end(&mut bytes).map_err(read)?;
        if file.limit() == 0 {
            return Err(CachedCatalogError::TooLarge {
                path: path.to_owned(),
            });
        }
        let document: CatalogDocument =
            serde_json::from_slice(&bytes).map_err(|source| CachedCatalogError::Document {
                path: path.to_owned(),
                source,
            })?;
        let catalog_uuid = document.catalog_uuid.clone();
        let catalog_uuid = catalog_uuid.filter(|uuid| !uuid.is_empty());
        let catalog_uuid = catalog_uuid.ok_or_else(|| CachedCatalogError::NoId {
            path: path.to_owned(),
        })?;
        Ok(Self::from_document(document, catalog_uuid, digest(&bytes)))
    }

    fn from_document(document: CatalogDocument, catalog_uuid: String, digest: String) -> Self {
        let mut files = Vec::new();
        let mut declared = HashSet::new();
        let mut resources = 0;
        for resource in &document.resources {
            if resource.exported
                || matches!(resource.resource_type.as_str(), "Class" | "Stage" | "Node")
            {
                continue;
            }
            resources += 1;
            if resource.resource_type != "File" {
                continue;
            }
            let title = resource.title.as_str();
            let source = FileSource {
                single: document.metadata.get(title),
                tree: document.recursive_metadata.get(title),
            };
            let path = resource.parameters.get("path").and_then(Value::as_str);
            let path = PathBuf::from(path.unwrap_or(title).trim_end_matches('/'));
            files.extend(ExpectedFile::read(&path, &resource.parameters, source));
            declared.insert(path);
        }
        Self {
            certname: document.name,
            environment: document.environment,
            catalog_uuid,
            code_id: document.code_id,
            version: match document.version {
                Value::String(text) => text,
                other => other.to_string(),
            },
            digest,
            files,
            declared,
            resources,
        }
    }
}

/// SHA-256 of a document, as hexadecimal digits.
fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
