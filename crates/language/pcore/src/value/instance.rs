//! Instances of object types that are written in Puppet. Main type: [`ObjectInstance`].
//!
//! Invariant: every attribute that a constructor can set has a value.

use std::any::Any;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

use super::{Hash, ObjectError, PuppetObject, Value};
use crate::types::{AttributeKind, ObjectTypeDefinition, Type, TypeKind};

/// An object whose attributes are stored values.
#[derive(Debug, Clone)]
pub struct ObjectInstance {
    object_type: Arc<ObjectTypeDefinition>,
    attributes: Hash,
}

impl ObjectInstance {
    /// Creates an instance. Attributes that are not given have their defaults.
    #[must_use]
    pub fn new(of: &Arc<ObjectTypeDefinition>, given: Hash) -> Self {
        let mut attributes = given;
        for element in of.init_hash_type() {
            if attributes.get_str(element.name()).is_none() {
                let default = of
                    .all_attributes()
                    .get(element.name())
                    .and_then(|attribute| attribute.value().cloned());
                attributes.insert(element.name(), default.unwrap_or_default());
            }
        }
        Self {
            object_type: of.clone(),
            attributes,
        }
    }
}

impl PuppetObject for ObjectInstance {
    fn object_type(&self) -> Type {
        if self.object_type.name() != Some("Error") {
            return self.object_type.clone().into();
        }
        // the parameters of Puppet's own Error type are the values of the instance
        let parameters: Hash = self
            .object_type
            .all_type_parameters()
            .keys()
            .map(|name| {
                let value = self.attribute(name).unwrap_or_default();
                (name.clone(), value)
            })
            .collect();
        TypeKind::ObjectExtension {
            base: self.object_type.clone(),
            parameters: parameters.into(),
        }
        .into()
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.attributes.get_str(name) {
            return Some(value.clone());
        }
        let attributes = self.object_type.all_attributes();
        let constant = attributes
            .get(name)
            .filter(|attribute| attribute.kind() == Some(AttributeKind::Constant))?;
        constant.value().cloned()
    }

    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, ObjectError>> {
        match (self.object_type.name(), method, arguments) {
            (Some("Error"), "message", []) => self.attribute("msg").map(Ok),
            _ => None,
        }
    }

    fn equals(&self, other: &dyn PuppetObject) -> bool {
        let Some(other) = other.as_any().downcast_ref::<Self>() else {
            return false;
        };
        let includes_type = self
            .object_type
            .body()
            .is_none_or(|body| !body.equality_ignores_type);
        (!includes_type || self.object_type == other.object_type)
            && self.object_type.equality_attributes().iter().all(|name| {
                let (mine, theirs) = (self.attribute(name), other.attribute(name));
                mine.unwrap_or_default() == theirs.unwrap_or_default()
            })
    }

    fn hash_code(&self) -> u64 {
        use std::hash::Hash as _;
        let mut hasher = DefaultHasher::new();
        for name in self.object_type.equality_attributes() {
            self.attribute(&name).unwrap_or_default().hash(&mut hasher);
        }
        hasher.finish()
    }

    fn init_hash(&self) -> Hash {
        let attributes = self.object_type.all_attributes();
        self.object_type
            .init_hash_type()
            .into_iter()
            .filter_map(|element| {
                let value = self.attributes.get_str(element.name())?;
                let default = attributes.get(element.name())?.value();
                (default != Some(value)).then(|| (element.name().to_owned(), value.clone()))
            })
            .collect()
    }

    fn held_values(&self) -> Vec<&Value> {
        self.attributes.values().collect()
    }

    fn has_unknown(&self) -> bool {
        self.attributes.iter().any(|(_, value)| value.has_unknown())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
