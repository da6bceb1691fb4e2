//! Files of a catalog whose content the catalog describes, so that agents need not ask for it: a
//! static catalog. Main types: [`FileResource`], [`StaticFiles`].
//!
//! Invariant: descriptions are added to the document and change nothing in it.

use pcore::Value;
use serde_json::{Map, Value as Json};

use super::{CatalogDocument, CatalogResource};

/// A resource of the type `File` that the agent receives.
#[derive(Debug, Clone, Copy)]
pub struct FileResource<'d> {
    resource: &'d CatalogResource,
}

/// Descriptions of the sources of `File` resources, by title, as agents expect them.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct StaticFiles {
    /// Metadata of the first source that exists.
    pub metadata: Map<String, Json>,
    /// For each source, metadata of all files below it.
    pub recursive_metadata: Map<String, Json>,
}

impl<'d> FileResource<'d> {
    /// Title of the resource.
    #[must_use]
    pub fn title(self) -> &'d str {
        &self.resource.title
    }

    /// Value of an attribute; `None` if it is not set.
    #[must_use]
    pub fn attribute(self, name: &str) -> Option<&'d Value> {
        let parameter = self.resource.parameters.get(name)?;
        Some(&parameter.value).filter(|value| !value.is_undef())
    }
}

impl CatalogDocument {
    /// The resources of the type `File`, virtual ones left out.
    pub fn file_resources(&self) -> impl Iterator<Item = FileResource<'_>> {
        let shown = self.shown().map(|id| self.catalog.resource(id));
        let files = shown.filter(|resource| *resource.type_name == *"File");
        files.map(|resource| FileResource { resource })
    }

    /// Adds the descriptions of files.
    pub fn set_static_files(&mut self, files: StaticFiles) {
        self.static_files = files;
    }
}
