//! Object types from the hash in `Object[{..}]`: [`ObjectTypeDefinition::define`].
//!
//! Invariant: a type is consistent with its parents, or is refused in Puppet's wording.

use std::sync::Arc;

use super::define_members::{attribute, function, type_parameter};
use super::{
    AttributeKind, ObjectBody, ObjectTypeDefinition, StructElement, Type, TypeKind, visit,
};
use crate::describe::{TypeMismatch, assert_instance};
use crate::value::{Hash, Regexp, Value};

/// The definition of an object type is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectTypeError {
    #[error(transparent)]
    Mismatch(#[from] TypeMismatch),
    #[error("{0}")]
    Refused(String),
}

impl ObjectTypeError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self::Refused(message.into())
    }
}

/// The pattern of names of attributes, functions and parameters.
const MEMBER_NAME: &str = r"\A[a-z_]\w*\z";
/// The pattern of names of types.
const TYPE_NAME: &str = r"\A[A-Z][\w]*(?:::[A-Z][\w]*)*\z";

/// The type of the hash from which object types are created.
fn init_type() -> Type {
    let member = Type::pattern(vec![Regexp::new(MEMBER_NAME)]);
    let members = |key: Type| Type::hash_of(key, Type::not_undef());
    let function_name = Type::variant_of(vec![member.clone(), Type::string_value("[]")]);
    let annotations = Type::optional_of(Type::hash_of(
        Type::type_type(),
        Type::hash_of(member.clone(), Type::any()),
    ));
    let equality = Type::variant(vec![member.clone(), Type::array_of(member.clone())]);
    let optional = |name: &str, ty: Type| StructElement::new(name, true, ty);
    Type::struct_of(vec![
        optional("name", Type::pattern(vec![Regexp::new(TYPE_NAME)])),
        optional("parent", Type::type_type()),
        optional("type_parameters", members(member.clone())),
        optional("attributes", members(member.clone())),
        optional("constants", Type::hash_of(member, Type::any())),
        optional("functions", members(function_name)),
        optional("equality", equality),
        optional("equality_include_type", Type::boolean()),
        optional("checks", Type::any()),
        optional("annotations", annotations),
    ])
}

impl ObjectTypeDefinition {
    /// Sets the definition of the type, once.
    pub fn define(&self, init: &Hash) -> Result<(), ObjectTypeError> {
        assert_instance("object initializer", &init_type(), &init.clone().into())?;
        if let (None, Some(name)) = (self.name(), init.get_str("name").and_then(Value::as_str)) {
            self.set_name(name.into());
        }
        let body = self.body_of(init)?;
        self.set_body(body);
        Ok(())
    }

    fn body_of(&self, init: &Hash) -> Result<ObjectBody, ObjectTypeError> {
        let parent = init.get_str("parent").and_then(Value::as_type).cloned();
        let inherited = self.inherited_parent(parent.as_ref())?;
        let members = |key: &str| init.get_str(key).and_then(Value::as_hash);
        let mut body = ObjectBody {
            parent,
            checks: init.get_str("checks").cloned(),
            annotations: init.get_str("annotations").cloned(),
            equality_ignores_type: init.get_str("equality_include_type")
                == Some(&Value::Bool(false)),
            ..ObjectBody::default()
        };
        for (name, spec) in members("type_parameters").into_iter().flat_map(Hash::iter) {
            let name = name.to_string();
            let parameter = type_parameter(self, &name, spec)?;
            body.type_parameters.insert(name.into(), parameter);
        }
        let attributes =
            attribute_specs(self, members("attributes"), members("constants"), |name| {
                inherited
                    .as_ref()
                    .is_some_and(|parent| parent.all_attributes().contains_key(name))
            })?;
        for (name, spec) in attributes.iter() {
            let name = name.to_string();
            let attribute = attribute(self, &name, spec, inherited.as_deref())?;
            body.attributes.insert(name.into(), attribute);
        }
        for (name, spec) in members("functions").into_iter().flat_map(Hash::iter) {
            let name = name.to_string();
            if body.attributes.contains_key(name.as_str()) {
                return Err(ObjectTypeError::new(format!(
                    "function {}[{name}] conflicts with attribute with the same name",
                    self.label()
                )));
            }
            let function = function(self, &name, spec, inherited.as_deref())?;
            body.functions.insert(name.into(), function);
        }
        body.equality = self.equality_of(init, &body, inherited.as_deref())?;
        Ok(body)
    }

    /// The object type to inherit from; `None` if the parent is not one.
    fn inherited_parent(
        &self,
        parent: Option<&Type>,
    ) -> Result<Option<Arc<Self>>, ObjectTypeError> {
        let Some(parent) = parent else {
            return Ok(None);
        };
        let mut is_own = false;
        if let Some(TypeKind::Object(above)) = parent.unaliased().map(Type::kind) {
            let mut next = Some(above);
            for _ in 0..crate::defaults::OBJECT_PARENTS_MAX {
                let Some(object) = next else { break };
                is_own |= std::ptr::eq(object.as_ref(), self);
                next = object.parent_object();
            }
        }
        if is_own {
            return Err(ObjectTypeError::new(format!(
                "The Object type '{}' inherits from itself",
                self.label()
            )));
        }
        match parent.unaliased().map(Type::kind) {
            Some(TypeKind::Reference(text)) => Err(ObjectTypeError::new(format!(
                "reference to unresolved type '{text}'"
            ))),
            Some(TypeKind::Object(above)) => Ok(Some(above.clone())),
            _ => Ok(None),
        }
    }

    fn equality_of(
        &self,
        init: &Hash,
        body: &ObjectBody,
        inherited: Option<&Self>,
    ) -> Result<Option<Vec<Arc<str>>>, ObjectTypeError> {
        let names: Vec<Arc<str>> = match init.get_str("equality") {
            Some(Value::Str(name)) => vec![name.clone()],
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(Value::as_str)
                .map(Arc::from)
                .collect(),
            _ => return Ok(None),
        };
        if !names.is_empty() && body.equality_ignores_type {
            return Err(ObjectTypeError::new(
                "equality_include_type = false cannot be combined with non empty equality specification",
            ));
        }
        for name in &names {
            self.check_equality(name, body, inherited)?;
        }
        Ok(Some(names))
    }

    fn check_equality(
        &self,
        name: &str,
        body: &ObjectBody,
        inherited: Option<&Self>,
    ) -> Result<(), ObjectTypeError> {
        let label = self.label();
        let from_parent = inherited.and_then(|parent| {
            let attribute = parent.all_attributes().get(name).copied().cloned()?;
            Some((parent, attribute))
        });
        let (owner, attribute) = match &from_parent {
            Some((parent, attribute)) => (*parent, attribute),
            None => match body.attributes.get(name) {
                Some(attribute) => (self, attribute),
                None if body.functions.contains_key(name) => {
                    return Err(ObjectTypeError::new(format!(
                        "{label} equality is referencing function {label}[{name}]. Only attribute references are allowed"
                    )));
                }
                None => {
                    return Err(ObjectTypeError::new(format!(
                        "{label} equality is referencing non existent attribute '{name}'"
                    )));
                }
            },
        };
        if let Some((parent, _)) = &from_parent
            && parent
                .equality_attributes()
                .iter()
                .any(|known| **known == *name)
        {
            let definer = parent.definer_of(name);
            return Err(ObjectTypeError::new(format!(
                "{label} equality is referencing attribute {definer}[{name}] which is included in equality of {definer}"
            )));
        }
        if attribute.kind() == Some(AttributeKind::Constant) {
            return Err(ObjectTypeError::new(format!(
                "{label} equality is referencing constant attribute {}[{name}]. Reference to constant is not allowed in equality",
                owner.label()
            )));
        }
        Ok(())
    }

    /// The label of the topmost parent that has the attribute.
    pub(super) fn definer_of(&self, name: &str) -> String {
        let mut definer = self;
        while let Some(above) = definer.parent_object() {
            if !above.all_attributes().contains_key(name) {
                break;
            }
            definer = above;
        }
        definer.label().to_owned()
    }
}

/// Attributes and constants in one hash of specifications.
fn attribute_specs(
    object: &ObjectTypeDefinition,
    attributes: Option<&Hash>,
    constants: Option<&Hash>,
    is_inherited: impl Fn(&str) -> bool,
) -> Result<Hash, ObjectTypeError> {
    let mut specs = attributes.cloned().unwrap_or_default();
    for (name, value) in constants.into_iter().flat_map(Hash::iter) {
        let text = name.to_string();
        if specs.contains_key(name) {
            return Err(ObjectTypeError::new(format!(
                "attribute {}[{text}] is defined as both a constant and an attribute",
                object.label()
            )));
        }
        let mut spec = Hash::new();
        // generalized, otherwise it could not be overridden
        spec.insert("type", Type::infer(value).generalize());
        spec.insert("value", value.clone());
        spec.insert("kind", "constant");
        spec.insert("override", is_inherited(&text));
        specs.insert(name.clone(), spec);
    }
    Ok(specs)
}

/// Text of the first unresolved type reference in a type; `None` if all are resolved.
#[must_use]
pub fn unresolved_reference(ty: &Type) -> Option<String> {
    let mut found = None;
    visit(ty, &mut |one| {
        if let TypeKind::Reference(text) = one.kind() {
            found = Some(text.to_string());
        }
        found.is_none()
    });
    found
}
