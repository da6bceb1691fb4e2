//! Construction of a type by its declarations, in their order: [`ResourceTypeBuilder`].
//!
//! Invariant: a built type has Puppet's name variables and title patterns for its origin, and at most
//! [`MAX_ATTRIBUTES`] properties and as many parameters.

use std::collections::{HashSet, VecDeque};

use indexmap::IndexMap;

use crate::defaults::MAX_ATTRIBUTES;
use crate::{ResourceAttributeKind, ResourceType, ResourceTypeOrigin, TitlePattern};

/// A type that Puppet refuses to load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidResourceType {
    /// More attributes than [`MAX_ATTRIBUTES`].
    #[error(
        "type {name} has {count} properties or parameters, more than {MAX_ATTRIBUTES}: split the type"
    )]
    TooManyAttributes {
        /// Name of the type.
        name: String,
        /// Number of properties or parameters, whichever are more.
        count: usize,
    },
    /// Several name variables, and nothing that says how a title sets them.
    #[error(
        "type {name} has {count} name variables and no title patterns: add `title_patterns` to the type"
    )]
    TitlePatternsMissing {
        /// Name of the type.
        name: String,
        /// Number of name variables.
        count: usize,
    },
}

/// The declarations of a type.
#[derive(Debug)]
pub struct ResourceTypeBuilder {
    name: String,
    origin: ResourceTypeOrigin,
    properties: VecDeque<DeclaredAttribute>,
    parameters: VecDeque<DeclaredAttribute>,
    property_names: HashSet<Box<str>>,
    parameter_names: HashSet<Box<str>>,
    title_patterns: Option<Vec<TitlePattern>>,
    isomorphic: bool,
    capability: bool,
}

#[derive(Debug)]
struct DeclaredAttribute {
    name: String,
    is_name_variable: bool,
}

impl ResourceTypeBuilder {
    /// A type without attributes.
    #[must_use]
    pub fn new(name: &str, origin: ResourceTypeOrigin) -> Self {
        Self {
            name: name.to_owned(),
            origin,
            properties: VecDeque::new(),
            parameters: VecDeque::new(),
            property_names: HashSet::new(),
            parameter_names: HashSet::new(),
            title_patterns: None,
            isomorphic: true,
            capability: false,
        }
    }

    /// Adds a property. In Ruby, properties are never name variables, even if they are marked so.
    pub fn add_property(&mut self, name: &str, is_name_variable: bool) {
        let property = DeclaredAttribute {
            name: name.to_owned(),
            is_name_variable: is_name_variable && self.origin == ResourceTypeOrigin::Generated,
        };
        self.property_names.insert(name.into());
        match (self.origin, name) {
            // Puppet puts it first, wherever a type declares it.
            (ResourceTypeOrigin::Ruby, "ensure") => self.properties.push_front(property),
            _ => self.properties.push_back(property),
        }
    }

    /// Adds a parameter. In Ruby, `name` is always a name variable.
    pub fn add_parameter(&mut self, name: &str, is_name_variable: bool) {
        let implied = self.origin == ResourceTypeOrigin::Ruby && name == "name";
        self.parameter_names.insert(name.into());
        self.parameters.push_back(DeclaredAttribute {
            name: name.to_owned(),
            is_name_variable: is_name_variable || implied,
        });
    }

    /// True if a property with this name was added.
    #[must_use]
    pub fn has_property(&self, name: &str) -> bool {
        self.property_names.contains(name)
    }

    /// True if a parameter with this name was added.
    #[must_use]
    pub fn has_parameter(&self, name: &str) -> bool {
        self.parameter_names.contains(name)
    }

    /// Replaces the title patterns; without a call, the title sets the only name variable.
    pub fn set_title_patterns(&mut self, patterns: Vec<TitlePattern>) {
        self.title_patterns = Some(patterns);
    }

    /// Replaces the isomorphism, which is true without a call.
    pub fn set_isomorphic(&mut self, isomorphic: bool) {
        self.isomorphic = isomorphic;
    }

    /// Sets whether resources of the type are capabilities; they are not without a call.
    pub fn set_capability(&mut self, capability: bool) {
        self.capability = capability;
    }

    /// The type, or the reason for which Puppet refuses it.
    pub fn build(self) -> Result<ResourceType, InvalidResourceType> {
        let count = self.properties.len().max(self.parameters.len());
        if count > MAX_ATTRIBUTES {
            let name = self.name;
            return Err(InvalidResourceType::TooManyAttributes { name, count });
        }
        let declared = self.properties.iter().chain(&self.parameters);
        let mut name_variables: Vec<Box<str>> = Vec::new();
        name_variables.extend(
            declared
                .filter(|it| it.is_name_variable)
                .map(|it| it.name.as_str().into()),
        );
        let title_patterns = match (&*name_variables, self.title_patterns, self.origin) {
            ([], _, ResourceTypeOrigin::Generated) => None,
            (_, Some(patterns), ResourceTypeOrigin::Ruby) => Some(patterns),
            ([], None, ResourceTypeOrigin::Ruby) => Some(Vec::new()),
            ([_], Some(patterns), ResourceTypeOrigin::Generated) => Some(patterns),
            ([only], None, _) => Some(vec![TitlePattern::whole_title(only)]),
            (_, Some(patterns), _) if !patterns.is_empty() => Some(patterns),
            (several, _, _) => {
                return Err(InvalidResourceType::TitlePatternsMissing {
                    name: self.name,
                    count: several.len(),
                });
            }
        };
        let mut attributes = IndexMap::new();
        for (list, kind) in [
            (self.properties, ResourceAttributeKind::Property),
            (self.parameters, ResourceAttributeKind::Parameter),
        ] {
            for attribute in list {
                attributes.entry(attribute.name.into()).or_insert(kind);
            }
        }
        Ok(ResourceType {
            name: self.name.into(),
            origin: self.origin,
            attributes,
            name_variables,
            title_patterns,
            isomorphic: self.isomorphic,
            capability: self.capability,
        })
    }
}
