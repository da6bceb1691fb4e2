//! A native resource type: [`ResourceType`].
//!
//! Invariant: every name variable is an attribute, and a type with two or more of them has title
//! patterns.

use indexmap::IndexMap;

use crate::{Metaparameter, TitlePattern};

/// The kind of an attribute that a type declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceAttributeKind {
    /// State of the managed thing, which an agent compares and changes.
    Property,
    /// Setting of the way in which an agent manages it.
    Parameter,
}

/// The definition that Puppet would use; the two differ in details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceTypeOrigin {
    /// A Ruby class. It takes the attribute `name` even if it declares none, and a parameter called
    /// `name` is always a name variable.
    Ruby,
    /// A file that `puppet generate types` wrote.
    Generated,
}

/// A native resource type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceType {
    pub(crate) name: Box<str>,
    pub(crate) origin: ResourceTypeOrigin,
    pub(crate) attributes: IndexMap<Box<str>, ResourceAttributeKind>,
    pub(crate) name_variables: Vec<Box<str>>,
    /// `None` if the title is the value of `name`.
    pub(crate) title_patterns: Option<Vec<TitlePattern>>,
    pub(crate) isomorphic: bool,
    pub(crate) capability: bool,
}

impl ResourceType {
    /// Name in lower case, such as `file`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn origin(&self) -> ResourceTypeOrigin {
        self.origin
    }

    /// Declared attributes without metaparameters: properties, then parameters, each in the order
    /// of declaration.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, ResourceAttributeKind)> {
        self.attributes.iter().map(|(name, kind)| (&**name, *kind))
    }

    /// The kind of a declared attribute; `None` for metaparameters and unknown names.
    #[must_use]
    pub fn attribute_kind(&self, name: &str) -> Option<ResourceAttributeKind> {
        self.attributes.get(name).copied()
    }

    /// True if a resource of this type may set the attribute: it is declared, a metaparameter, or
    /// `name` of a type in Ruby.
    #[must_use]
    pub fn has_attribute(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
            || (self.origin == ResourceTypeOrigin::Ruby && name == "name")
            || Metaparameter::find(name).is_some()
    }

    /// Names of the attributes that identify a resource, in the order of declaration (Puppet's
    /// `key_attributes`).
    pub fn name_variables(&self) -> impl ExactSizeIterator<Item = &str> {
        self.name_variables.iter().map(|name| &**name)
    }

    /// The only name variable, or `name` if there are none or several. The compiler leaves this
    /// attribute out of a catalog if its value is the title.
    #[must_use]
    pub fn name_variable(&self) -> &str {
        match &*self.name_variables {
            [only] => only,
            _ => "name",
        }
    }

    /// Patterns that take a title apart, the first match wins. `None` if the title is the value of
    /// `name`; then [`name_variables`](Self::name_variables) is empty.
    #[must_use]
    pub fn title_patterns(&self) -> Option<&[TitlePattern]> {
        self.title_patterns.as_deref()
    }

    /// True if resources of this type are capabilities, which components of applications produce and
    /// consume.
    #[must_use]
    pub fn is_capability(&self) -> bool {
        self.capability
    }

    /// The same type as a capability.
    #[must_use]
    pub fn into_capability(self) -> Self {
        Self {
            capability: true,
            ..self
        }
    }

    /// True if resources with equal name variables are the same thing, so that only one may be in
    /// a catalog. False for `exec` and `tidy`.
    #[must_use]
    pub fn is_isomorphic(&self) -> bool {
        self.isomorphic
    }
}
