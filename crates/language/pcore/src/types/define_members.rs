//! Attributes, functions and type parameters of an object type, parsed from their specifications.
//!
//! Invariant: a member overrides an inherited one only if it declares so and its type fits.

use super::define::ObjectTypeError;
use super::{
    AttributeKind, ObjectAttribute, ObjectFunction, ObjectTypeDefinition, StructElement, Type,
    TypeKind, TypeParameter,
};
use crate::describe::assert_instance;
use crate::value::{Hash, Value};

fn flag(name: &str) -> StructElement {
    StructElement::new(name, true, Type::boolean())
}

fn annotations() -> StructElement {
    StructElement::new("annotations", true, Type::optional_of(Type::hash()))
}

fn attribute_spec() -> Type {
    let kinds = ["constant", "derived", "given_or_derived", "reference"];
    Type::struct_of(vec![
        StructElement::new("type", false, Type::type_type()),
        flag("final"),
        flag("override"),
        StructElement::new("kind", true, Type::enumeration(kinds)),
        StructElement::new("value", true, Type::any()),
        annotations(),
    ])
}

fn function_spec() -> Type {
    Type::struct_of(vec![
        StructElement::new("type", false, Type::type_of(Type::callable())),
        flag("final"),
        flag("override"),
        annotations(),
    ])
}

/// Definition of an attribute or function, parsed from its hash or from a bare type.
struct MemberDefinition {
    ty: Type,
    is_final: Option<bool>,
    overrides: bool,
    annotations: Option<Value>,
}

impl MemberDefinition {
    fn of(hash: &Hash) -> Self {
        let flag = |name: &str| hash.get_str(name).and_then(Value::as_bool);
        Self {
            ty: hash
                .get_str("type")
                .and_then(Value::as_type)
                .cloned()
                .unwrap_or_else(Type::any),
            is_final: flag("final"),
            overrides: flag("override").unwrap_or(false),
            annotations: hash.get_str("annotations").cloned(),
        }
    }
}

/// The hash of features; for a bare type, a hash with only that type.
fn features(label: &str, spec: &Value, wanted: &Type) -> Result<Hash, ObjectTypeError> {
    if let Value::Hash(features) = spec {
        return Ok(features.as_ref().clone());
    }
    assert_instance(label, wanted, spec)?;
    let mut features = Hash::new();
    features.insert("type", spec.clone());
    if let Value::Type(ty) = spec
        && matches!(ty.kind(), TypeKind::Optional(_))
    {
        features.insert("value", Value::Undef);
    }
    Ok(features)
}

pub(super) fn attribute(
    object: &ObjectTypeDefinition,
    name: &str,
    spec: &Value,
    inherited: Option<&ObjectTypeDefinition>,
) -> Result<ObjectAttribute, ObjectTypeError> {
    let label = format!("attribute {}[{name}]", object.label());
    let hash = features(&label, spec, &Type::type_type())?;
    let subject = format!("initializer for {label}");
    assert_instance(&subject, &attribute_spec(), &hash.clone().into())?;
    if name == "__ptype" || name == "__pvalue" {
        return Err(ObjectTypeError::new(format!(
            "The attribute '{name}' is reserved and cannot be used"
        )));
    }
    let spec = MemberDefinition::of(&hash);
    let kind = hash
        .get_str("kind")
        .and_then(Value::as_str)
        .and_then(AttributeKind::from_word);
    if kind == Some(AttributeKind::Constant) && spec.is_final == Some(false) {
        return Err(ObjectTypeError::new(format!(
            "{label} of kind 'constant' cannot be combined with final => false"
        )));
    }
    let value = hash.get_str("value").cloned();
    match (kind, &value) {
        (Some(kind @ (AttributeKind::Derived | AttributeKind::GivenOrDerived)), Some(_)) => {
            return Err(ObjectTypeError::new(format!(
                "{label} of kind '{}' cannot be combined with an attribute value",
                kind.word()
            )));
        }
        (Some(AttributeKind::Constant), None) => {
            return Err(ObjectTypeError::new(format!(
                "{label} of kind 'constant' requires a value"
            )));
        }
        (_, Some(value)) if !matches!(value, Value::Default) => {
            assert_instance(&format!("{label} value"), &spec.ty, value)?;
        }
        _ => {}
    }
    let attribute = ObjectAttribute {
        ty: spec.ty,
        kind,
        value,
        is_final: spec.is_final.unwrap_or(false) || kind == Some(AttributeKind::Constant),
        overrides: spec.overrides,
        annotations: spec.annotations,
    };
    let member = OverrideMember {
        label,
        ty: attribute.ty.clone(),
        is_constant: kind == Some(AttributeKind::Constant),
        overrides: attribute.overrides,
        feature: "attribute",
    };
    member.check_override(name, inherited)?;
    Ok(attribute)
}

pub(super) fn function(
    object: &ObjectTypeDefinition,
    name: &str,
    spec: &Value,
    inherited: Option<&ObjectTypeDefinition>,
) -> Result<ObjectFunction, ObjectTypeError> {
    let label = format!("function {}[{name}]", object.label());
    let hash = features(&label, spec, &Type::type_of(Type::callable()))?;
    let subject = format!("initializer for function '{name}'");
    assert_instance(&subject, &function_spec(), &hash.clone().into())?;
    let spec = MemberDefinition::of(&hash);
    let callable = match spec.ty.unaliased().map(Type::kind) {
        Some(TypeKind::Callable(callable)) => callable.clone(),
        _ => return Err(ObjectTypeError::new(format!("{label} is not a Callable"))),
    };
    let member = OverrideMember {
        label,
        ty: spec.ty,
        is_constant: false,
        overrides: spec.overrides,
        feature: "function",
    };
    member.check_override(name, inherited)?;
    Ok(ObjectFunction {
        ty: callable,
        is_final: spec.is_final.unwrap_or(false),
        overrides: spec.overrides,
        annotations: spec.annotations,
    })
}

pub(super) fn type_parameter(
    object: &ObjectTypeDefinition,
    name: &str,
    spec: &Value,
) -> Result<TypeParameter, ObjectTypeError> {
    let label = format!("type_parameter {}[{name}]", object.label());
    let (ty, value) = match spec {
        Value::Hash(features) => (
            features.get_str("type").cloned().unwrap_or_default(),
            features.get_str("value").cloned(),
        ),
        other => (other.clone(), None),
    };
    assert_instance(&label, &Type::type_type(), &ty)?;
    let ty = ty.as_type().cloned().unwrap_or_else(Type::any);
    let ty = match ty.kind() {
        TypeKind::Optional(_) => ty,
        _ => Type::optional_of(ty),
    };
    Ok(TypeParameter { ty, value })
}

/// Properties of a member that an override is checked against.
struct OverrideMember {
    label: String,
    ty: Type,
    is_constant: bool,
    overrides: bool,
    feature: &'static str,
}

impl OverrideMember {
    fn check_override(
        &self,
        name: &str,
        inherited: Option<&ObjectTypeDefinition>,
    ) -> Result<(), ObjectTypeError> {
        let label = &self.label;
        let attribute = inherited.and_then(|parent| parent.all_attributes().get(name).copied());
        let function = inherited.and_then(|parent| parent.all_functions().get(name).copied());
        let owner = inherited.map(|parent| parent.definer_of(name));
        let owner = owner.unwrap_or_default();
        let (their_feature, their_type, is_final, is_constant) = match (attribute, function) {
            (Some(theirs), _) => (
                "attribute",
                theirs.ty.clone(),
                theirs.is_final,
                theirs.kind == Some(AttributeKind::Constant),
            ),
            (None, Some(theirs)) => {
                let ty = Type::callable_of(theirs.ty.clone());
                ("function", ty, theirs.is_final, false)
            }
            (None, None) if self.overrides => {
                let feature = self.feature;
                return Err(ObjectTypeError::new(format!(
                    "expected {label} to override an inherited {feature}, but no such {feature} was found"
                )));
            }
            (None, None) => return Ok(()),
        };
        let theirs = format!("{their_feature} {owner}[{name}]");
        let refused = |why: String| Err(ObjectTypeError::new(why));
        if their_feature != self.feature {
            return refused(format!("{label} attempts to override {theirs}"));
        }
        if is_final && !(is_constant && self.is_constant) {
            return refused(format!("{label} attempts to override final {theirs}"));
        }
        if !self.overrides {
            return refused(format!(
                "{label} attempts to override {theirs} without having override => true"
            ));
        }
        if !their_type.is_assignable(&self.ty) {
            return refused(format!(
                "{label} attempts to override {theirs} with a type that does not match"
            ));
        }
        Ok(())
    }
}
