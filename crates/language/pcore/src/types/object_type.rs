//! Types of objects. Main type: [`ObjectTypeDefinition`].
//!
//! Like an alias, an object type is created before its body, because attributes may be of the type
//! itself.
//!
//! Invariant: the body is checked against the parent when it is set, so for instances only the
//! values are checked.

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::{CallableType, StructElement, Type, TypeKind};
use crate::defaults::{CHECK_DEPTH_MAX, OBJECT_PARENTS_MAX};
use crate::value::Value;

/// A type created by `Object[{..}]`, or the type of native objects.
#[derive(Debug)]
pub struct ObjectTypeDefinition {
    name: OnceLock<Arc<str>>,
    body: OnceLock<ObjectBody>,
}

/// Definition of an object type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectBody {
    pub(crate) parent: Option<Type>,
    pub(crate) type_parameters: IndexMap<Arc<str>, TypeParameter>,
    pub(crate) attributes: IndexMap<Arc<str>, ObjectAttribute>,
    pub(crate) functions: IndexMap<Arc<str>, ObjectFunction>,
    /// The attributes that are compared; `None` compares all.
    pub(crate) equality: Option<Vec<Arc<str>>>,
    pub(crate) equality_ignores_type: bool,
    pub(crate) checks: Option<Value>,
    pub(crate) annotations: Option<Value>,
}

/// A parameter of an object type, such as the kind in `Error['kind']`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeParameter {
    pub(crate) ty: Type,
    pub(crate) value: Option<Value>,
}

/// An attribute of an object type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectAttribute {
    pub(crate) ty: Type,
    pub(crate) kind: Option<AttributeKind>,
    pub(crate) value: Option<Value>,
    pub(crate) is_final: bool,
    pub(crate) overrides: bool,
    pub(crate) annotations: Option<Value>,
}

impl ObjectAttribute {
    /// A required attribute of a type.
    pub(crate) fn of(ty: Type) -> Self {
        Self {
            ty,
            kind: None,
            value: None,
            is_final: false,
            overrides: false,
            annotations: None,
        }
    }

    #[must_use]
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    #[must_use]
    pub fn kind(&self) -> Option<AttributeKind> {
        self.kind
    }

    /// The value of a constant, or the default of another attribute.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }
}

/// The kind of an attribute, as `kind` declares it; ordinary attributes have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributeKind {
    Constant,
    Derived,
    GivenOrDerived,
    Reference,
}

/// A method of an object type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectFunction {
    pub(crate) ty: CallableType,
    pub(crate) is_final: bool,
    pub(crate) overrides: bool,
    pub(crate) annotations: Option<Value>,
}

impl ObjectFunction {
    #[must_use]
    pub fn ty(&self) -> &CallableType {
        &self.ty
    }
}

impl ObjectTypeDefinition {
    /// Creates an object type whose body is not known yet.
    pub fn declare(name: Option<Arc<str>>) -> Arc<Self> {
        let declared = OnceLock::new();
        if let Some(name) = name {
            let _ = declared.set(name);
        }
        Arc::new(Self {
            name: declared,
            body: OnceLock::new(),
        })
    }

    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.get().map(AsRef::as_ref)
    }

    /// The definition; `None` until it is resolved.
    #[must_use]
    pub fn body(&self) -> Option<&ObjectBody> {
        self.body.get()
    }

    pub(crate) fn set_name(&self, name: Arc<str>) {
        let _ = self.name.set(name);
    }

    pub(crate) fn set_body(&self, body: ObjectBody) {
        // a second body would be equal
        let _ = self.body.set(body);
    }

    /// The name in errors and texts.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name().unwrap_or("Object")
    }

    /// True for `Object` itself, from which all object types inherit.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.name().is_none()
            && self
                .body()
                .is_some_and(|body| *body == ObjectBody::default())
    }

    /// The type from which it inherits.
    #[must_use]
    pub fn parent(&self) -> Option<&Type> {
        self.body()?.parent.as_ref()
    }

    /// True if `other` is this type or inherits from it; all object types inherit from `Object`.
    pub(crate) fn is_or_inherited_by(&self, other: &Self) -> bool {
        if self.is_root() || self == other {
            return true;
        }
        let mut parent = other.parent();
        for _ in 0..CHECK_DEPTH_MAX {
            let Some(TypeKind::Object(above)) = parent.and_then(Type::unaliased).map(Type::kind)
            else {
                return false;
            };
            if self == above.as_ref() {
                return true;
            }
            parent = above.parent();
        }
        false
    }

    /// The object type from which it inherits; `None` if the parent is not one.
    #[must_use]
    pub fn parent_object(&self) -> Option<&Arc<Self>> {
        match self.parent()?.unaliased()?.kind() {
            TypeKind::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The type with its ancestors, from the root to the type itself.
    fn lineage(&self) -> Vec<&Self> {
        let mut line = vec![self];
        let mut parent = self.parent_object();
        while let Some(above) = parent.filter(|_| line.len() < OBJECT_PARENTS_MAX) {
            line.push(above);
            parent = above.parent_object();
        }
        line.reverse();
        line
    }

    fn collected<'a, T: 'a>(
        &'a self,
        of: impl Fn(&'a ObjectBody) -> &'a IndexMap<Arc<str>, T>,
    ) -> IndexMap<Arc<str>, &'a T> {
        let mut all = IndexMap::new();
        for object in self.lineage() {
            if let Some(body) = object.body() {
                all.extend(of(body).iter().map(|(name, member)| (name.clone(), member)));
            }
        }
        all
    }

    /// All attributes, those of parents first.
    #[must_use]
    pub fn all_attributes(&self) -> IndexMap<Arc<str>, &ObjectAttribute> {
        self.collected(|body| &body.attributes)
    }

    /// All methods, those of parents first.
    #[must_use]
    pub fn all_functions(&self) -> IndexMap<Arc<str>, &ObjectFunction> {
        self.collected(|body| &body.functions)
    }

    /// All type parameters, those of parents first.
    #[must_use]
    pub fn all_type_parameters(&self) -> IndexMap<Arc<str>, &TypeParameter> {
        self.collected(|body| &body.type_parameters)
    }

    /// The attributes that are compared for the equality of instances.
    #[must_use]
    pub fn equality_attributes(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        for body in self.lineage().into_iter().filter_map(Self::body) {
            let own: Vec<Arc<str>> = match &body.equality {
                Some(names) => names.clone(),
                None => body
                    .attributes
                    .iter()
                    .filter(|(_, attribute)| attribute.kind != Some(AttributeKind::Constant))
                    .map(|(name, _)| name.clone())
                    .collect(),
            };
            for name in own {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The type of the hash from which an instance is created.
    #[must_use]
    pub fn init_hash_type(&self) -> Vec<StructElement> {
        self.all_attributes()
            .into_iter()
            .filter(|(_, attribute)| {
                !matches!(
                    attribute.kind,
                    Some(AttributeKind::Constant | AttributeKind::Derived)
                )
            })
            .map(|(name, attribute)| StructElement {
                optional: attribute.value.is_some() || attribute.ty.accepts_undef(),
                name,
                value: attribute.ty.clone(),
            })
            .collect()
    }
}
