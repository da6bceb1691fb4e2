//! Descriptions of the files of a catalog: [`inline_files`].
//!
//! Every file of a module that a `File` resource has as its source is described, with an address of
//! its content by hash, so that the agent asks for nothing that it has already. A content is found
//! again through [`StaticContent`], which names its place in the version.
//!
//! Invariant: all files are those of the version from which the catalog was compiled.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use compiler::{CatalogDocument, FileResource, StaticFiles};
use environments::{
    CodeVersion, FileMetadata, FileMount, FileTreeOptions, FileTreeRequest, LinkHandling,
    ServedFileKind, Sha256, mount_path,
};
use pcore::Value;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::defaults::STATIC_FILES_MAX;
use crate::{ChecksumType, IgnoredNames, MetadataDocument};

/// First part of the path in addresses of contents by hash.
pub const BY_HASH: &str = "by-hash/sha256";

/// The place of a content that a catalog names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StaticContent {
    pub module: String,
    /// Path below the module's directory `files`.
    pub path: String,
}

/// Contents of a catalog by hash.
pub type StaticContents = BTreeMap<Sha256, StaticContent>;

/// Reason that the files of a catalog cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum StaticFileError {
    #[error("Could not find any of the sources {sources} of File[{title}]")]
    NoSource { title: String, sources: String },
    #[error("the source {uri} of File[{title}] cannot be read: {}", error_causes::chain(&**.source))]
    Read {
        title: String,
        uri: String,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A source of a resource in a module.
struct ModuleSource<'s> {
    /// As agents name it, without a slash at its end.
    uri: &'s str,
    module: &'s str,
    path: Cow<'s, str>,
}

struct FileInliner<'v> {
    version: &'v dyn CodeVersion,
    checksum_type: ChecksumType,
    files: StaticFiles,
    contents: StaticContents,
}

/// Describes the files of a catalog in its document, and returns the contents that it names.
///
/// # Errors
/// A resource has no source that exists, or a file cannot be read.
pub fn inline_files(
    document: &mut CatalogDocument,
    version: &dyn CodeVersion,
    checksum_type: ChecksumType,
) -> Result<StaticContents, StaticFileError> {
    let mut inliner = FileInliner {
        version,
        checksum_type,
        files: StaticFiles::default(),
        contents: StaticContents::new(),
    };
    for resource in document.file_resources() {
        inliner.add(resource)?;
    }
    document.set_static_files(inliner.files);
    Ok(inliner.contents)
}

impl FileInliner<'_> {
    fn add(&mut self, resource: FileResource<'_>) -> Result<(), StaticFileError> {
        let Some(sources) = module_sources(resource) else {
            return Ok(());
        };
        match is_recursive(resource) {
            true => self.add_recursive(resource, &sources),
            false => self.add_single(resource, &sources),
        }
    }

    fn add_single(
        &mut self,
        resource: FileResource<'_>,
        sources: &[ModuleSource<'_>],
    ) -> Result<(), StaticFileError> {
        for source in sources {
            let found = self.describe(resource, source, Some(0))?;
            if let Some((_, document)) = found.into_iter().next() {
                let document = json!(document);
                self.files
                    .metadata
                    .insert(resource.title().to_owned(), document);
                return Ok(());
            }
        }
        Err(no_source(resource, sources))
    }

    fn add_recursive(
        &mut self,
        resource: FileResource<'_>,
        sources: &[ModuleSource<'_>],
    ) -> Result<(), StaticFileError> {
        let takes_all = attribute_text(resource, "sourceselect") == Some("all");
        let mut by_source = serde_json::Map::new();
        for source in sources {
            let found = self.describe(resource, source, recurse_limit(resource))?;
            let Some((top, _)) = found.first() else {
                continue;
            };
            let top = top.path.to_string_lossy().into_owned();
            let below = found
                .into_iter()
                .map(|(file, document)| json!(document.below(top.clone(), &file.relative_path)));
            by_source.insert(source.uri.to_owned(), Json::Array(below.collect()));
            if !takes_all {
                break;
            }
        }
        if by_source.is_empty() {
            return Err(no_source(resource, sources));
        }
        self.files
            .recursive_metadata
            .insert(resource.title().to_owned(), Json::Object(by_source));
        Ok(())
    }

    /// Metadata of a source and of all below it; empty if it does not exist.
    fn describe(
        &mut self,
        resource: FileResource<'_>,
        source: &ModuleSource<'_>,
        depth_max: Option<usize>,
    ) -> Result<Vec<(FileMetadata, MetadataDocument)>, StaticFileError> {
        let ignored = ignored_names(resource);
        let links = link_handling(resource);
        let request = FileTreeRequest {
            mount: FileMount::Modules,
            module: Some(source.module),
            tree: FileTreeOptions {
                path: &source.path,
                links,
                depth_max,
                files_max: STATIC_FILES_MAX,
                is_ignored: &|name| ignored.contains(name),
            },
        };
        let files = match self.version.file_tree(&request) {
            Ok(files) => files,
            Err(error) if error.is_not_found() => return Ok(Vec::new()),
            Err(error) => {
                return Err(StaticFileError::Read {
                    title: resource.title().to_owned(),
                    uri: source.uri.to_owned(),
                    source: error.into(),
                });
            }
        };
        let described = files.into_iter().map(|file| {
            let document = self.document(resource, source, &file, links)?;
            Ok((file, document))
        });
        described.collect()
    }

    fn document(
        &mut self,
        resource: FileResource<'_>,
        source: &ModuleSource<'_>,
        file: &FileMetadata,
        links: LinkHandling,
    ) -> Result<MetadataDocument, StaticFileError> {
        let own_type = attribute_text(resource, "checksum").and_then(|name| name.parse().ok());
        let checksum_type = own_type.unwrap_or(self.checksum_type);
        let path = join(&source.path, &file.relative_path);
        let open = || {
            let opened = self
                .version
                .file(FileMount::Modules, Some(source.module), &path);
            opened.map(|it| it.content).map_err(io::Error::other)
        };
        let checksum = checksum_type.checksum(file, open);
        let checksum = checksum.map_err(|error| StaticFileError::Read {
            title: resource.title().to_owned(),
            uri: source.uri.to_owned(),
            source: error.into(),
        })?;
        let mut content_uri = None;
        if let ServedFileKind::File { sha256, .. } = file.kind {
            content_uri = Some(format!("puppet:///{BY_HASH}/{sha256}"));
            let module = source.module.to_owned();
            self.contents.insert(sha256, StaticContent { module, path });
        }
        let uri = join(source.uri, &file.relative_path);
        let document = MetadataDocument::new(file, links, checksum_type, checksum);
        Ok(document.in_catalog(uri, content_uri))
    }
}

fn no_source(resource: FileResource<'_>, sources: &[ModuleSource<'_>]) -> StaticFileError {
    let uris: Vec<&str> = sources.iter().map(|source| source.uri).collect();
    StaticFileError::NoSource {
        title: resource.title().to_owned(),
        sources: uris.join(", "),
    }
}

/// The sources of a resource; `None` if it has none, or one that is not a file of a module.
fn module_sources(resource: FileResource<'_>) -> Option<Vec<ModuleSource<'_>>> {
    if attribute_text(resource, "ensure") == Some("absent") {
        return None;
    }
    let sources = match resource.attribute("source")? {
        Value::Array(sources) => sources.iter().collect(),
        source => vec![source],
    };
    let sources = sources.into_iter().map(|source| match source {
        Value::Str(uri) => module_source(uri),
        _ => None,
    });
    let sources: Option<Vec<_>> = sources.collect();
    sources.filter(|sources| !sources.is_empty())
}

fn module_source(uri: &str) -> Option<ModuleSource<'_>> {
    let below = uri.strip_prefix("puppet:///modules/")?;
    // an escaped path is left to the file server, which decodes it as agents encode it
    if below.contains('%') {
        return None;
    }
    let (module, path) = below.split_once('/').unwrap_or((below, ""));
    Some(ModuleSource {
        uri: uri.trim_end_matches('/'),
        module,
        path: mount_path(path),
    })
}

fn is_recursive(resource: FileResource<'_>) -> bool {
    match resource.attribute("recurse") {
        Some(Value::Bool(recurses)) => *recurses,
        Some(Value::Str(text)) => matches!(&**text, "true" | "remote" | "inf"),
        _ => false,
    }
}

fn recurse_limit(resource: FileResource<'_>) -> Option<usize> {
    match resource.attribute("recurselimit")? {
        Value::Int(levels) => usize::try_from(*levels).ok(),
        Value::Str(text) => text.parse().ok(),
        _ => None,
    }
}

fn link_handling(resource: FileResource<'_>) -> LinkHandling {
    match attribute_text(resource, "links") {
        Some("follow") => LinkHandling::Follow,
        _ => LinkHandling::Manage,
    }
}

fn ignored_names(resource: FileResource<'_>) -> IgnoredNames {
    match resource.attribute("ignore") {
        Some(Value::Str(name)) => IgnoredNames::new([&**name]),
        Some(Value::Array(names)) => IgnoredNames::new(names.iter().filter_map(Value::as_str)),
        _ => IgnoredNames::default(),
    }
}

fn attribute_text<'d>(resource: FileResource<'d>, name: &str) -> Option<&'d str> {
    resource.attribute(name).and_then(Value::as_str)
}

fn join(path: &str, below: &str) -> String {
    match (path.is_empty(), below.is_empty()) {
        (_, true) => path.to_owned(),
        (true, false) => below.to_owned(),
        (false, false) => format!("{path}/{below}"),
    }
}
