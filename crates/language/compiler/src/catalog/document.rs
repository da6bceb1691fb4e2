//! The finished catalog as agents get it: [`CatalogDocument`].
//!
//! The fields and their order are those of Puppet's `Catalog#to_data_hash`, format 2.
//! Rich data, and texts in its place, are written by `document_value`; `plain_value` has the form of
//! a Puppet server whose setting `rich_data` is off.
//! Invariant: virtual and pruned resources are left out, with their edges; exported ones are virtual
//! unless they are collected.

use pcore::Value;
use serde::Serialize;
use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::Value as Json;

use super::document_value::{DocumentForm, DocumentValue, flat_attribute};
use super::plain_value::{PlainConversion, PlainConversions, PlainConverter};
use super::{Catalog, CatalogResource, ResourceId, ResourceKind, StaticFiles, TagSet};
use crate::defaults::RESOURCE_DOCUMENT_BYTES;

/// The catalog format that Puppet 7 and 8 write.
const CATALOG_FORMAT: u32 = 2;

/// A compiled catalog, which is written as JSON in the form that an agent asks for.
#[derive(Debug)]
pub struct CatalogDocument {
    identity: CatalogIdentity,
    pub(super) catalog: Catalog,
    pub(super) static_files: StaticFiles,
}

/// A catalog without rich data.
#[derive(Debug)]
pub struct PlainCatalog {
    /// The same fields as with rich data.
    pub document: Json,
    /// The first values that became texts. With `strict = error`, the default of Puppet 8, a server
    /// refuses the catalog because of the first one; otherwise it logs a warning about each.
    pub conversions: Vec<PlainConversion>,
}

/// The representation in which the attributes of a document are written.
#[derive(Debug, Clone, Copy)]
enum ValueForm<'d> {
    Document(DocumentForm),
    Plain(&'d PlainConversions),
}

/// The fields of a catalog besides its content.
#[derive(Debug)]
pub(crate) struct CatalogIdentity {
    pub(crate) name: String,
    pub(crate) environment: String,
    pub(crate) version: Value,
    pub(crate) code_id: Option<String>,
    pub(crate) catalog_uuid: String,
}

/// A value of an attribute that cannot be written; the text names resource, attribute and reason, to follow
/// the name of the catalog.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RichValueError(#[from] serde_json::Error);

impl CatalogDocument {
    pub(crate) fn new(identity: CatalogIdentity, catalog: Catalog) -> Self {
        Self {
            identity,
            catalog,
            static_files: StaticFiles::default(),
        }
    }

    /// Number of resources in the catalog, virtual ones left out.
    #[must_use]
    pub fn resource_count(&self) -> usize {
        self.shown().count()
    }

    /// The document as JSON text.
    pub fn to_text(&self, form: DocumentForm) -> Result<String, RichValueError> {
        let form = ValueForm::Document(form);
        let size = self.catalog.len() * RESOURCE_DOCUMENT_BYTES;
        let mut text = Vec::with_capacity(size);
        serde_json::to_writer(&mut text, &self.view(form))?;
        Ok(String::from_utf8(text).map_err(serde_json::Error::custom)?)
    }

    /// The document as JSON.
    pub fn to_json(&self, form: DocumentForm) -> Result<Json, RichValueError> {
        let form = ValueForm::Document(form);
        Ok(serde_json::to_value(self.view(form))?)
    }

    /// The document as a server with `rich_data = false` writes it.
    pub fn to_plain_json(&self) -> Result<PlainCatalog, RichValueError> {
        let conversions = PlainConversions::default();
        let form = ValueForm::Plain(&conversions);
        let document = serde_json::to_value(self.view(form))?;
        let conversions = conversions.into_list();
        Ok(PlainCatalog {
            document,
            conversions,
        })
    }

    /// The resources that the node exports, which other nodes may collect; some are in the catalog of
    /// the node itself too.
    pub fn exported_resources(&self, form: DocumentForm) -> Result<Vec<Json>, RichValueError> {
        let form = ValueForm::Document(form);
        let resources = self.catalog.ids().map(|id| self.catalog.resource(id));
        let exported = resources.filter(|resource| resource.is_exported);
        exported
            .map(|resource| Ok(serde_json::to_value(ResourceView { resource, form })?))
            .collect()
    }

    fn view<'d>(&'d self, form: ValueForm<'d>) -> DocumentView<'d> {
        DocumentView {
            document: self,
            form,
        }
    }

    pub(super) fn shown(&self) -> impl Iterator<Item = ResourceId> {
        self.catalog.ids().filter(|id| self.is_shown(*id))
    }

    fn is_shown(&self, id: ResourceId) -> bool {
        let resource = self.catalog.resource(id);
        !resource.is_virtual && !resource.is_pruned
    }
}

/// A document in one form.
struct DocumentView<'d> {
    document: &'d CatalogDocument,
    form: ValueForm<'d>,
}

impl Serialize for DocumentView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CatalogDocument {
            identity,
            catalog,
            static_files,
        } = self.document;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tags", &TagsView(&catalog.tags))?;
        map.serialize_entry("name", &identity.name)?;
        let version = identity.version.to_json().unwrap_or_default();
        map.serialize_entry("version", &version)?;
        map.serialize_entry("code_id", &identity.code_id)?;
        map.serialize_entry("catalog_uuid", &identity.catalog_uuid)?;
        map.serialize_entry("catalog_format", &CATALOG_FORMAT)?;
        map.serialize_entry("environment", &identity.environment)?;
        map.serialize_entry("resources", &ResourcesView(self))?;
        map.serialize_entry("edges", &EdgesView(self.document))?;
        map.serialize_entry("classes", &TextsView(&catalog.classes))?;
        let StaticFiles {
            metadata,
            recursive_metadata,
        } = static_files;
        for (name, files) in [
            ("metadata", metadata),
            ("recursive_metadata", recursive_metadata),
        ] {
            if !files.is_empty() {
                map.serialize_entry(name, files)?;
            }
        }
        map.end()
    }
}

struct ResourcesView<'d>(&'d DocumentView<'d>);

impl Serialize for ResourcesView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let DocumentView { document, form } = self.0;
        serializer.collect_seq(document.shown().map(|id| ResourceView {
            resource: document.catalog.resource(id),
            form: *form,
        }))
    }
}

/// Containment edges, by contained resource in the order of the catalog.
struct EdgesView<'d>(&'d CatalogDocument);

impl Serialize for EdgesView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let catalog = &self.0.catalog;
        let mut edges = serializer.serialize_seq(None)?;
        for id in self.0.shown() {
            for container in catalog.containers(id) {
                if self.0.is_shown(*container) {
                    edges.serialize_element(&EdgeView {
                        source: Reference(catalog.resource(*container)),
                        target: Reference(catalog.resource(id)),
                    })?;
                }
            }
        }
        edges.end()
    }
}

#[derive(Serialize)]
struct EdgeView<'d> {
    source: Reference<'d>,
    target: Reference<'d>,
}

/// `Type[title]`
struct Reference<'d>(&'d CatalogResource);

impl Serialize for Reference<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

struct TagsView<'d>(&'d TagSet);

impl Serialize for TagsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|tag| &**tag))
    }
}

struct TextsView<'d>(&'d [std::sync::Arc<str>]);

impl Serialize for TextsView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|text| &**text))
    }
}

/// A resource in one form.
struct ResourceView<'d> {
    resource: &'d CatalogResource,
    form: ValueForm<'d>,
}

impl Serialize for ResourceView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let resource = self.resource;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &*resource.type_name)?;
        map.serialize_entry("title", &*resource.title)?;
        map.serialize_entry("tags", &TagsView(&resource.tags))?;
        if resource.location.line > 0 {
            if let Some(file) = &resource.location.file {
                map.serialize_entry("file", &**file)?;
            }
            map.serialize_entry("line", &resource.location.line)?;
        }
        map.serialize_entry("exported", &resource.is_exported)?;
        map.serialize_entry("kind", kind_name(resource))?;
        let parameters = ParametersView::of(self);
        if !parameters.is_empty() {
            map.serialize_entry("parameters", &parameters)?;
        }
        if !resource.sensitive_parameters.is_empty() {
            let names = TextsView(&resource.sensitive_parameters);
            map.serialize_entry("sensitive_parameters", &names)?;
        }
        map.end()
    }
}

fn kind_name(resource: &CatalogResource) -> &'static str {
    match &resource.kind {
        ResourceKind::Native(_) => "compilable_type",
        ResourceKind::DefinedType(_) => "defined_type",
        ResourceKind::Class(_) if resource.is_declared_class => "class",
        ResourceKind::Class(_) | ResourceKind::Node(_) => "unknown",
    }
}

/// The attributes of a resource: first those that its title sets, then its own.
struct ParametersView<'d> {
    resource: &'d CatalogResource,
    form: ValueForm<'d>,
    of_title: Vec<(&'d str, &'d str)>,
    own: Vec<(&'d str, &'d Value)>,
}

impl<'d> ParametersView<'d> {
    fn of(view: &ResourceView<'d>) -> Self {
        let resource = view.resource;
        let name_variable = match &resource.kind {
            ResourceKind::Native(ty) => ty.name_variable(),
            _ => "name",
        };
        // a name that is the title is left out
        let is_title = |name: &str, value: &str| {
            name == name_variable && *value == *resource.title && resource.has_text_title()
        };
        let is_set = |name: &str| {
            let parameter = resource.parameters.get(name);
            parameter.is_some_and(|it| !it.value.is_undef())
        };
        let mut of_title = title_values(resource);
        of_title.retain(|(name, value)| !is_set(name) && !is_title(name, value));
        let own = resource.parameters.iter();
        let own = own.map(|(name, parameter)| (&**name, &parameter.value));
        let own = own.filter(|(name, value)| match value {
            Value::Undef => false,
            Value::Str(text) => !is_title(name, text),
            _ => true,
        });
        Self {
            resource,
            form: view.form,
            of_title,
            own: own.collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.of_title.is_empty() && self.own.is_empty()
    }
}

impl Serialize for ParametersView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.of_title {
            map.serialize_entry(name, value)?;
        }
        for (name, value) in &self.own {
            let written = match self.form {
                ValueForm::Document(form) => {
                    map.serialize_entry(name, &DocumentValue::of_attribute(name, value, form))
                }
                ValueForm::Plain(conversions) => {
                    let converter = PlainConverter::new(self.resource, conversions);
                    let value = flat_attribute(name, value);
                    map.serialize_entry(name, &converter.attribute(name, &value))
                }
            };
            written.map_err(|error| {
                S::Error::custom(format!(
                    "the attribute '{name}' of {}: {error}",
                    self.resource
                ))
            })?;
        }
        map.end()
    }
}

/// The attributes that the title sets.
fn title_values(resource: &CatalogResource) -> Vec<(&str, &str)> {
    match &resource.kind {
        ResourceKind::Native(ty) => {
            let parts = ty.parse_title(&resource.title).unwrap_or_default();
            let set = parts.into_iter();
            set.filter_map(|(name, value)| Some((name, value?)))
                .collect()
        }
        _ if resource.has_text_title() => Vec::new(),
        _ => vec![("name", &*resource.title)],
    }
}
