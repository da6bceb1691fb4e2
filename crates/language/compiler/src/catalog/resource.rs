//! A resource while the catalog is compiled: [`CatalogResource`].
//!
//! Invariant: type and title never change after the resource was added to the catalog.

use std::fmt;
use std::sync::Arc;

use evaluator::{CatalogScopeId, SourceLocation};
use pcore::{FastIndexMap, Value};
use resource_types::ResourceType;

use super::{InvalidTag, TagSet};
use crate::environment::{ClassDefinition, DefinedType, NodeDefinition};
use crate::reference::CatalogReference;

/// Index of a resource, in the order of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ResourceId(pub(crate) u32);

/// Index of the class, defined type or node block whose code declares resources. It decides who may
/// override their attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ResourceSource(pub(crate) u32);

/// The definition behind a resource's type.
#[derive(Debug, Clone)]
pub(crate) enum ResourceKind {
    Native(Arc<ResourceType>),
    DefinedType(Arc<DefinedType>),
    /// `Class[Main]` and `Class[Settings]` have no definition.
    Class(Option<Arc<ClassDefinition>>),
    Node(Arc<NodeDefinition>),
}

/// An attribute of a resource.
#[derive(Debug, Clone)]
pub(crate) struct ResourceParameter {
    pub(crate) value: Value,
    pub(crate) source: ResourceSource,
    pub(crate) location: SourceLocation,
}

/// The values of `export` and `consume` as the declaration gives them.
#[derive(Debug, Default)]
pub(crate) struct ComponentLinks {
    pub(crate) export: Option<ResourceParameter>,
    pub(crate) consume: Option<ResourceParameter>,
}

#[derive(Debug)]
pub(crate) struct CatalogResource {
    pub(crate) type_name: Arc<str>,
    pub(crate) title: Arc<str>,
    pub(crate) kind: ResourceKind,
    pub(crate) parameters: FastIndexMap<Arc<str>, ResourceParameter>,
    pub(crate) tags: TagSet,
    pub(crate) scope: CatalogScopeId,
    pub(crate) source: ResourceSource,
    /// Position of the declaration; without a line for classes that were included.
    pub(crate) location: SourceLocation,
    /// True for classes declared like resources, which the document calls `class`.
    pub(crate) is_declared_class: bool,
    pub(crate) is_virtual: bool,
    pub(crate) is_exported: bool,
    pub(crate) is_evaluated: bool,
    /// True if the title is the text of a value of another type.
    pub(crate) has_converted_title: bool,
    pub(crate) has_scope_tags: bool,
    pub(crate) sensitive_parameters: Vec<Arc<str>>,
    /// True for resources that no document shows: the site, applications of other nodes, and
    /// capabilities that an agent cannot use.
    pub(crate) is_pruned: bool,
    /// `export` and `consume` of a component.
    pub(crate) links: Option<Box<ComponentLinks>>,
}

impl CatalogResource {
    pub(crate) fn new(
        type_name: Arc<str>,
        title: Arc<str>,
        kind: ResourceKind,
        (scope, source): (CatalogScopeId, ResourceSource),
    ) -> Self {
        Self {
            type_name,
            title,
            kind,
            parameters: FastIndexMap::default(),
            tags: TagSet::default(),
            scope,
            source,
            location: SourceLocation::default(),
            is_declared_class: false,
            is_virtual: false,
            is_exported: false,
            is_evaluated: false,
            has_converted_title: false,
            has_scope_tags: false,
            sensitive_parameters: Vec::new(),
            is_pruned: false,
            links: None,
        }
    }

    pub(crate) fn reference(&self) -> CatalogReference {
        CatalogReference {
            type_name: Arc::clone(&self.type_name),
            title: Arc::clone(&self.title),
        }
    }

    /// Tags of the type and the title, after those of the `tag` attribute.
    pub(crate) fn add_own_tags(&mut self) {
        self.tags.add_if_valid(&self.type_name);
        // only a text is a tag; the title of the main class is a symbol in Puppet
        if self.has_text_title() {
            self.tags.add_if_valid(&self.title);
        }
    }

    /// True if the title is a string in Puppet.
    pub(crate) fn has_text_title(&self) -> bool {
        !self.is_main() && !self.has_converted_title
    }

    /// True for `Class[main]` and `Stage[main]`, whose title is not a string in Puppet.
    pub(crate) fn is_main(&self) -> bool {
        *self.title == *"main" && (self.is_class() || self.is_stage())
    }

    pub(crate) fn is_class(&self) -> bool {
        matches!(self.kind, ResourceKind::Class(_))
    }

    pub(crate) fn is_stage(&self) -> bool {
        *self.type_name == *"Stage"
    }

    pub(crate) fn is_native(&self) -> bool {
        matches!(self.kind, ResourceKind::Native(_))
    }

    /// Value of an attribute; `None` if it is not set. `title` is one.
    pub(crate) fn value(&self, name: &str) -> Option<Value> {
        if name == "title" {
            return Some(Value::Str(Arc::clone(&self.title)));
        }
        self.parameters.get(name).map(|it| it.value.clone())
    }

    /// Sets an attribute; the values of `tag` become tags.
    pub(crate) fn set(
        &mut self,
        name: Arc<str>,
        parameter: ResourceParameter,
    ) -> Result<(), InvalidTag> {
        if *name == *"tag" {
            self.add_tags_of(&parameter.value)?;
        }
        self.parameters.insert(name, parameter);
        Ok(())
    }

    /// Adds the tags in a value: a text, or a list of values.
    pub(crate) fn add_tags_of(&mut self, value: &Value) -> Result<(), InvalidTag> {
        match value {
            Value::Undef => Ok(()),
            Value::Array(values) => values.iter().try_for_each(|value| self.add_tags_of(value)),
            other => self.tags.add(&other.to_string()),
        }
    }

    /// The name that the resource manages: its attribute `name`, else the title.
    pub(crate) fn name(&self) -> Value {
        match self.parameters.get("name") {
            Some(name) if !name.value.is_undef() => name.value.clone(),
            _ => Value::Str(Arc::clone(&self.title)),
        }
    }
}

impl fmt::Display for CatalogResource {
    /// The reference, `Type[title]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // in parts, since a document has two references for each edge
        f.write_str(&self.type_name)?;
        f.write_str("[")?;
        f.write_str(&self.title)?;
        f.write_str("]")
    }
}
