//! Types of objects. Main type: [`ObjectType`].
//!
//! Like an alias it is made before its body, because attributes may be of the type itself. The rule that
//! must hold: the body is checked against the parent when it is set, so instances need no checks but
//! those of values.

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::{CallableType, Type};
use crate::value::Value;

/// A type made by `Object[{..}]`, or the type of native objects.
#[derive(Debug)]
pub struct ObjectType {
    name: OnceLock<Arc<str>>,
    body: OnceLock<ObjectBody>,
}

/// What an object type says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectBody {
    pub(crate) parent: Option<Type>,
    pub(crate) type_parameters: IndexMap<Arc<str>, TypeParameter>,
    pub(crate) attributes: IndexMap<Arc<str>, Attribute>,
    pub(crate) functions: IndexMap<Arc<str>, Function>,
    /// The attributes that are compared; `None`: all.
    pub(crate) equality: Option<Vec<Arc<str>>>,
    pub(crate) equality_ignores_type: bool,
    pub(crate) checks: Option<Value>,
    pub(crate) annotations: Option<Value>,
}

/// A parameter of an object type, as the kind in `Error['kind']`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeParameter {
    pub(crate) ty: Type,
    pub(crate) value: Option<Value>,
}

/// An attribute of an object type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    pub(crate) ty: Type,
    pub(crate) kind: Option<AttributeKind>,
    pub(crate) value: Option<Value>,
    pub(crate) is_final: bool,
    pub(crate) overrides: bool,
    pub(crate) annotations: Option<Value>,
}

impl Attribute {
    #[must_use]
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    #[must_use]
    pub fn kind(&self) -> Option<AttributeKind> {
        self.kind
    }

    /// The value of a constant, or the default.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }
}

/// Where an attribute's value comes from, if not from the constructor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributeKind {
    Constant,
    Derived,
    GivenOrDerived,
    Reference,
}

/// A method of an object type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub(crate) ty: CallableType,
    pub(crate) is_final: bool,
    pub(crate) overrides: bool,
    pub(crate) annotations: Option<Value>,
}

impl Function {
    #[must_use]
    pub fn ty(&self) -> &CallableType {
        &self.ty
    }
}

impl ObjectType {
    /// A type without its body, for now.
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

    /// What it says; nothing if it is not resolved yet.
    #[must_use]
    pub fn body(&self) -> Option<&ObjectBody> {
        self.body.get()
    }

    pub(crate) fn set_body(&self, body: ObjectBody) {
        let _ = self.body.set(body);
    }
}
