//! Instances of object types, from arguments in order or from a hash.

use std::sync::Arc;

use super::constructor::{ConstructorParameters, ValueConstructor};
use crate::types::{ObjectTypeDefinition, StructElement, Type};
use crate::value::{Hash, ObjectInstance, Value};

pub(super) fn constructor(object: &Arc<ObjectTypeDefinition>) -> ValueConstructor {
    let elements = object.init_hash_type();
    let (required, optional): (Vec<StructElement>, Vec<StructElement>) = elements
        .iter()
        .cloned()
        .partition(|element| !element.is_optional());
    let mut parameters = ConstructorParameters::none();
    let mut names: Vec<Arc<str>> = Vec::new();
    for element in &required {
        names.push(element.name().into());
        parameters = parameters.with_required(element.name(), element.value().clone());
    }
    for element in &optional {
        names.push(element.name().into());
        parameters = parameters.with_optional(element.name(), element.value().clone());
    }
    let (by_hash, by_place) = (object.clone(), object.clone());
    ValueConstructor::new(format!("new_{}", object.label()))
        .with_signature(
            ConstructorParameters::one("hash", Type::struct_of(elements)),
            move |arguments| {
                let given = arguments.first().and_then(Value::as_hash);
                let given = given.cloned().unwrap_or_default();
                Ok(Value::object(ObjectInstance::new(&by_hash, given)))
            },
        )
        .with_signature(parameters, move |arguments| {
            let given: Hash = names
                .iter()
                .zip(arguments)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            Ok(Value::object(ObjectInstance::new(&by_place, given)))
        })
}
