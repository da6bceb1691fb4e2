//! Instances of object types that are written in Puppet. Main type: [`Instance`].
//!
//! Invariant: every attribute that a constructor can give has a value.

use std::any::Any;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;

use super::{Hash, Object, ObjectError, Value};
use crate::types::{AttributeKind, Kind, ObjectType, Type};

/// An object whose attributes are values.
#[derive(Debug, Clone)]
pub struct Instance {
    of: Arc<ObjectType>,
    attributes: Hash,
}

impl Instance {
    /// Attributes that are not given take their defaults.
    #[must_use]
    pub fn new(of: &Arc<ObjectType>, given: Hash) -> Self {
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
            of: of.clone(),
            attributes,
        }
    }
}

impl Object for Instance {
    fn object_type(&self) -> Type {
        if self.of.name() != Some("Error") {
            return self.of.clone().into();
        }
        // Puppet's own Error tells its parameters by its values
        let parameters: Hash = self
            .of
            .all_type_parameters()
            .keys()
            .map(|name| {
                let value = self.attribute(name).unwrap_or_default();
                (name.clone(), value)
            })
            .collect();
        Kind::ObjectExtension {
            base: self.of.clone(),
            parameters: parameters.into(),
        }
        .into()
    }

    fn attribute(&self, name: &str) -> Option<Value> {
        if let Some(value) = self.attributes.get_str(name) {
            return Some(value.clone());
        }
        let attributes = self.of.all_attributes();
        let constant = attributes
            .get(name)
            .filter(|attribute| attribute.kind() == Some(AttributeKind::Constant))?;
        constant.value().cloned()
    }

    fn call(&self, method: &str, arguments: &[Value]) -> Option<Result<Value, ObjectError>> {
        match (self.of.name(), method, arguments) {
            (Some("Error"), "message", []) => self.attribute("msg").map(Ok),
            _ => None,
        }
    }

    fn equals(&self, other: &dyn Object) -> bool {
        let Some(other) = other.as_any().downcast_ref::<Self>() else {
            return false;
        };
        let includes_type = self
            .of
            .body()
            .is_none_or(|body| !body.equality_ignores_type);
        (!includes_type || self.of == other.of)
            && self.of.equality_attributes().iter().all(|name| {
                let (mine, theirs) = (self.attribute(name), other.attribute(name));
                mine.unwrap_or_default() == theirs.unwrap_or_default()
            })
    }

    fn hash_code(&self) -> u64 {
        use std::hash::Hash as _;
        let mut hasher = DefaultHasher::new();
        for name in self.of.equality_attributes() {
            self.attribute(&name).unwrap_or_default().hash(&mut hasher);
        }
        hasher.finish()
    }

    fn init_hash(&self) -> Hash {
        let attributes = self.of.all_attributes();
        self.of
            .init_hash_type()
            .into_iter()
            .filter_map(|element| {
                let value = self.attributes.get_str(element.name())?;
                let default = attributes.get(element.name())?.value();
                (default != Some(value)).then(|| (element.name().to_owned(), value.clone()))
            })
            .collect()
    }

    fn has_unknown(&self) -> bool {
        self.attributes.iter().any(|(_, value)| value.has_unknown())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
