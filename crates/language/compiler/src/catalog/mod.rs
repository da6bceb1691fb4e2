//! The catalog while it is compiled: resources by type and title, containment, classes, tags. Main
//! type: [`Catalog`].
//!
//! Invariant: resources and edges are only added, and a type has each title once.

use pcore::FastHashMap;
mod alias;
mod document;
mod document_value;
mod plain_value;
mod resource;
mod static_files;
mod tags;

use std::sync::Arc;

pub(crate) use self::alias::flat_texts;
pub(crate) use self::document::CatalogIdentity;
pub use self::document::{CatalogDocument, PlainCatalog, RichValueError};
pub use self::document_value::DocumentForm;
pub use self::plain_value::PlainConversion;
pub(crate) use self::resource::{
    CatalogResource, ResourceId, ResourceKind, ResourceParameter, ResourceSource,
};
pub use self::static_files::{FileResource, StaticFiles};
pub(crate) use self::tags::{InvalidTag, TagSet};

/// Resources, edges, classes and tags.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    resources: Vec<CatalogResource>,
    /// Resources by type and title, with aliases.
    by_title: FastHashMap<Arc<str>, FastHashMap<Arc<str>, ResourceId>>,
    /// Resources of types with several name variables, by type and their values.
    by_key: FastHashMap<(Arc<str>, Vec<Option<String>>), ResourceId>,
    by_type: FastHashMap<Arc<str>, Vec<ResourceId>>,
    /// Contained resources, by container.
    contents: Vec<Vec<ResourceId>>,
    /// Containers, by resource: the order in which a document lists edges.
    containers: Vec<Vec<ResourceId>>,
    edge_count: usize,
    classes: Vec<Arc<str>>,
    pub(crate) tags: TagSet,
}

impl Catalog {
    /// Adds a resource without checks; [`find_exact`](Self::find_exact) finds duplicates before.
    pub(crate) fn push(&mut self, resource: CatalogResource) -> ResourceId {
        let id = ResourceId(u32::try_from(self.resources.len()).unwrap_or(u32::MAX));
        self.by_title
            .entry(Arc::clone(&resource.type_name))
            .or_default()
            .insert(Arc::clone(&resource.title), id);
        self.by_type
            .entry(Arc::clone(&resource.type_name))
            .or_default()
            .push(id);
        self.resources.push(resource);
        self.contents.push(Vec::new());
        self.containers.push(Vec::new());
        id
    }

    pub(crate) fn len(&self) -> usize {
        self.resources.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ResourceId> + use<> {
        (0..self.resources.len()).map(|index| ResourceId(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    pub(crate) fn resource(&self, id: ResourceId) -> &CatalogResource {
        &self.resources[id.0 as usize]
    }

    pub(crate) fn resource_mut(&mut self, id: ResourceId) -> &mut CatalogResource {
        &mut self.resources[id.0 as usize]
    }

    /// Adds the tags of a resource to another one.
    pub(crate) fn merge_tags(&mut self, from: ResourceId, to: ResourceId) {
        let pair = [from.0 as usize, to.0 as usize];
        // a resource has its own tags already
        if let Ok([from, to]) = self.resources.get_disjoint_mut(pair) {
            to.tags.merge(&from.tags);
        }
    }

    /// The resource with this title or alias.
    pub(crate) fn find_exact(&self, type_name: &str, title: &str) -> Option<ResourceId> {
        self.by_title.get(type_name)?.get(title).copied()
    }

    pub(crate) fn of_type(&self, type_name: &str) -> &[ResourceId] {
        self.by_type.get(type_name).map_or(&[], Vec::as_slice)
    }

    /// Adds a containment edge; false if there are too many.
    pub(crate) fn add_edge(&mut self, container: ResourceId, content: ResourceId) -> bool {
        if self.edge_count >= crate::defaults::EDGES_MAX {
            return false;
        }
        self.edge_count += 1;
        self.contents[container.0 as usize].push(content);
        self.containers[content.0 as usize].push(container);
        true
    }

    pub(crate) fn has_edge(&self, container: ResourceId, content: ResourceId) -> bool {
        let contents = &self.contents[container.0 as usize];
        let containers = &self.containers[content.0 as usize];
        if containers.len() < contents.len() {
            containers.contains(&container)
        } else {
            contents.contains(&content)
        }
    }

    pub(crate) fn containers(&self, content: ResourceId) -> &[ResourceId] {
        &self.containers[content.0 as usize]
    }

    pub(crate) fn contents(&self, container: ResourceId) -> &[ResourceId] {
        &self.contents[container.0 as usize]
    }

    /// Names of the classes, in the order of their evaluation.
    pub(crate) fn classes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.classes.iter()
    }

    /// Adds a class to the list of classes, and its name to the tags.
    pub(crate) fn add_class(&mut self, name: &Arc<str>) -> Result<(), InvalidTag> {
        self.classes.push(Arc::clone(name));
        self.tags.add(name)
    }
}
