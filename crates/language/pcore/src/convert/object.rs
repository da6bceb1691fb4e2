//! Instances of object types, from arguments in order or from a hash.

use std::sync::Arc;

use super::constructor::{Constructor, Parameters};
use crate::types::{ObjectType, StructElement, Type};
use crate::value::{Hash, Instance, Value};

pub(super) fn constructor(object: &Arc<ObjectType>) -> Constructor {
    let elements = object.init_hash_type();
    let (required, optional): (Vec<StructElement>, Vec<StructElement>) = elements
        .iter()
        .cloned()
        .partition(|element| !element.is_optional());
    let mut parameters = Parameters::none();
    let mut names: Vec<Arc<str>> = Vec::new();
    for element in &required {
        names.push(element.name().into());
        parameters = parameters.and(element.name(), element.value().clone());
    }
    for element in &optional {
        names.push(element.name().into());
        parameters = parameters.optional(element.name(), element.value().clone());
    }
    let (by_hash, by_place) = (object.clone(), object.clone());
    Constructor::new(format!("new_{}", object.label()))
        .way(
            Parameters::one("hash", Type::struct_of(elements)),
            move |arguments| {
                let given = arguments.first().and_then(Value::as_hash);
                let given = given.cloned().unwrap_or_default();
                Ok(Value::object(Instance::new(&by_hash, given)))
            },
        )
        .way(parameters, move |arguments| {
            let given: Hash = names
                .iter()
                .zip(arguments)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            Ok(Value::object(Instance::new(&by_place, given)))
        })
}
