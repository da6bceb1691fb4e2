//! The hash that an object type can be created from: [`ObjectTypeDefinition::init_hash`].

use std::sync::Arc;

use indexmap::IndexMap;

use super::{
    AttributeKind, ObjectAttribute, ObjectFunction, ObjectTypeDefinition, Type, TypeParameter,
};
use crate::value::{Hash, Value};

impl AttributeKind {
    /// The keyword of the kind in a program.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Derived => "derived",
            Self::GivenOrDerived => "given_or_derived",
            Self::Reference => "reference",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [
            Self::Constant,
            Self::Derived,
            Self::GivenOrDerived,
            Self::Reference,
        ]
        .into_iter()
        .find(|kind| kind.word() == word)
    }
}

impl ObjectTypeDefinition {
    /// The hash in `Object[{..}]`.
    #[must_use]
    pub fn init_hash(&self, with_name: bool) -> Hash {
        let mut hash = Hash::new();
        let Some(body) = self.body() else {
            return hash;
        };
        if let Some(annotations) = &body.annotations {
            hash.insert("annotations", annotations.clone());
        }
        if let Some(name) = self.name().filter(|_| with_name) {
            hash.insert("name", name);
        }
        if let Some(parent) = &body.parent {
            hash.insert("parent", parent.clone());
        }
        add_members(
            &mut hash,
            "type_parameters",
            &body.type_parameters,
            type_parameter,
        );
        let (constants, attributes): (Vec<_>, Vec<_>) = body
            .attributes
            .iter()
            .partition(|(_, attribute)| is_plain_constant(attribute));
        if !attributes.is_empty() {
            let members: Hash = attributes
                .into_iter()
                .map(|(name, attribute)| (name.clone(), member(attribute_hash(attribute))))
                .collect();
            hash.insert("attributes", members);
        }
        if !constants.is_empty() {
            let values: Hash = constants
                .into_iter()
                .map(|(name, attribute)| {
                    (name.clone(), attribute.value.clone().unwrap_or_default())
                })
                .collect();
            hash.insert("constants", values);
        }
        add_members(&mut hash, "functions", &body.functions, function_hash);
        if let Some(equality) = &body.equality {
            let names = equality.iter().map(|name| Value::Str(name.clone()));
            hash.insert("equality", Value::array(names.collect()));
        }
        if let Some(checks) = &body.checks {
            hash.insert("checks", checks.clone());
        }
        hash
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::Str(text)
    }
}

/// True for a constant that can be recreated from its value alone.
fn is_plain_constant(attribute: &ObjectAttribute) -> bool {
    attribute.kind == Some(AttributeKind::Constant)
        && attribute
            .value
            .as_ref()
            .is_some_and(|value| Type::infer(value).generalize() == attribute.ty)
}

fn add_members<T>(
    hash: &mut Hash,
    key: &str,
    members: &IndexMap<Arc<str>, T>,
    features: impl Fn(&T) -> Hash,
) {
    if !members.is_empty() {
        let all: Hash = members
            .iter()
            .map(|(name, one)| (name.clone(), member(features(one))))
            .collect();
        hash.insert(key, all);
    }
}

/// The specification of a member: the bare type if it has no other feature.
fn member(features: Hash) -> Value {
    match features.get_str("type") {
        Some(ty) if features.len() == 1 => ty.clone(),
        _ => features.into(),
    }
}

fn features(ty: Type, is_final: bool, overrides: bool, annotations: Option<&Value>) -> Hash {
    let mut hash = Hash::new();
    hash.insert("type", ty);
    if is_final {
        hash.insert("final", true);
    }
    if overrides {
        hash.insert("override", true);
    }
    if let Some(annotations) = annotations {
        hash.insert("annotations", annotations.clone());
    }
    hash
}

fn attribute_hash(attribute: &ObjectAttribute) -> Hash {
    // a constant is always final
    let is_final = attribute.is_final && attribute.kind != Some(AttributeKind::Constant);
    let mut hash = features(
        attribute.ty.clone(),
        is_final,
        attribute.overrides,
        attribute.annotations.as_ref(),
    );
    if let Some(kind) = attribute.kind {
        hash.insert("kind", kind.word());
    }
    if let Some(value) = &attribute.value {
        hash.insert("value", value.clone());
    }
    hash
}

fn function_hash(function: &ObjectFunction) -> Hash {
    features(
        Type::callable_of(function.ty.clone()),
        function.is_final,
        function.overrides,
        function.annotations.as_ref(),
    )
}

fn type_parameter(parameter: &TypeParameter) -> Hash {
    let inner = match parameter.ty.kind() {
        super::TypeKind::Optional(Some(inner)) => inner.clone(),
        _ => parameter.ty.clone(),
    };
    let mut hash = features(inner, false, false, None);
    if let Some(value) = parameter.value.as_ref().filter(|value| !value.is_undef()) {
        hash.insert("value", value.clone());
    }
    hash
}
