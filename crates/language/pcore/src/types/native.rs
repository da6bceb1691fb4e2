//! Object types that Puppet itself defines: `Error`, `Deferred`.

use std::sync::LazyLock;

use super::{
    CallableType, IntRange, ObjectAttribute, ObjectBody, ObjectTypeDefinition, TupleType, Type,
    TypeKind, TypeParameter,
};
use crate::value::{Regexp, Value};

/// The native type with this name in lower case.
pub(super) fn by_name(name: &str) -> Option<Type> {
    match name {
        "error" => Some(Type::error()),
        "deferred" => Some(Type::deferred()),
        _ => None,
    }
}

impl Type {
    /// `Error`: a message with a kind, details and an issue code.
    #[must_use]
    pub fn error() -> Self {
        static ERROR: LazyLock<Type> = LazyLock::new(error);
        ERROR.clone()
    }

    /// `Deferred`: a function that is called on the node.
    #[must_use]
    pub fn deferred() -> Self {
        static DEFERRED: LazyLock<Type> = LazyLock::new(deferred);
        DEFERRED.clone()
    }
}

fn optional(ty: Type) -> ObjectAttribute {
    ObjectAttribute {
        value: Some(Value::Undef),
        ..ObjectAttribute::of(Type::optional_of(ty))
    }
}

fn error() -> Type {
    let pattern = Type::optional_of(Type::variant_of(vec![
        Type::string(),
        Type::regexp(),
        Type::type_of(Type::any_enum()),
        Type::type_of(Type::any_pattern()),
        Type::type_of(Type::not_undef()),
        Type::type_of(Type::undef()),
    ]));
    let parameter = TypeParameter {
        ty: pattern,
        value: None,
    };
    let details = Type::hash_of(Type::non_empty_string(), Type::data());
    let no_parameters = TupleType::new(Vec::new(), Some(IntRange::EMPTY));
    let message = CallableType::new(Some(no_parameters), None, Some(Type::non_empty_string()));
    let object = ObjectTypeDefinition::declare(Some("Error".into()));
    object.set_body(ObjectBody {
        type_parameters: [
            ("kind".into(), parameter.clone()),
            ("issue_code".into(), parameter),
        ]
        .into(),
        attributes: [
            ("msg".into(), ObjectAttribute::of(Type::non_empty_string())),
            ("kind".into(), optional(Type::non_empty_string())),
            ("details".into(), optional(details)),
            ("issue_code".into(), optional(Type::non_empty_string())),
        ]
        .into(),
        functions: [(
            "message".into(),
            super::ObjectFunction {
                ty: message,
                is_final: false,
                overrides: false,
                annotations: None,
            },
        )]
        .into(),
        ..ObjectBody::default()
    });
    TypeKind::Object(object).into()
}

fn deferred() -> Type {
    let name = Regexp::new(r"\A[$]?[a-z][a-z0-9_]*(?:::[a-z][a-z0-9_]*)*\z");
    let object = ObjectTypeDefinition::declare(Some("Deferred".into()));
    object.set_body(ObjectBody {
        attributes: [
            (
                "name".into(),
                ObjectAttribute::of(Type::pattern(vec![name])),
            ),
            ("arguments".into(), optional(Type::array())),
        ]
        .into(),
        ..ObjectBody::default()
    });
    TypeKind::Object(object).into()
}
