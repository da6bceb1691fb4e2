//! `Object[{..}]`, `Error['kind']`, `TypeSet[{..}]`.

use std::sync::Arc;

use super::AccessError;
use crate::describe::assert_instance;
use crate::types::{ObjectTypeDefinition, Type, TypeKind, TypeSetType};
use crate::value::{Hash, SemVer, Value};

pub(super) fn object(
    of: &Arc<ObjectTypeDefinition>,
    arguments: &[Value],
) -> Result<Type, AccessError> {
    if of.name().is_some() {
        return extension(of, arguments);
    }
    match arguments {
        [Value::Hash(init)] if init.is_empty() => Ok(Type::object()),
        [Value::Hash(init)] => {
            let name = init.get_str("name").and_then(Value::as_str).map(Arc::from);
            let object = ObjectTypeDefinition::declare(name);
            object
                .define(init)
                .map_err(|error| AccessError::plain(error.to_string()))?;
            Ok(object.into())
        }
        [_] => Err(AccessError::plain(
            "object initializer must be a Hash".to_owned(),
        )),
        _ => Err(AccessError::arity(
            "Object-Type",
            1,
            Some(1),
            arguments.len(),
        )),
    }
}

/// The object type with values for its type parameters, given by position or by name.
fn extension(of: &Arc<ObjectTypeDefinition>, arguments: &[Value]) -> Result<Type, AccessError> {
    let parameters = of.all_type_parameters();
    let label = of.label();
    if parameters.is_empty() {
        return Err(AccessError::plain(format!(
            "The {label}-Type cannot be parameterized using []"
        )));
    }
    let by_name = match arguments {
        [Value::Hash(named)] => parameters
            .values()
            .next()
            .filter(|first| !first.ty.is_instance(&arguments[0]))
            .map(|_| named),
        _ => None,
    };
    let mut given = Hash::new();
    let mut add = |name: &str, value: &Value| -> Result<(), AccessError> {
        let Some(parameter) = parameters.get(name) else {
            return Err(AccessError::plain(format!(
                "'{name}' is not a known type parameter for {label}-Type"
            )));
        };
        if !matches!(value, Value::Default) {
            let subject = format!("type_parameter {label}[{name}]");
            assert_instance(&subject, &parameter.ty, value)?;
            given.insert(name, value.clone());
        }
        Ok(())
    };
    match by_name {
        Some(named) => {
            for (name, value) in named.iter() {
                add(&name.to_string(), value)?;
            }
        }
        None => {
            for (name, value) in parameters.keys().zip(arguments) {
                add(name, value)?;
            }
        }
    }
    if given.is_empty() {
        return Err(AccessError::plain(format!(
            "The {label}-Type cannot be parameterized using an empty parameter list"
        )));
    }
    Ok(TypeKind::ObjectExtension {
        base: of.clone(),
        parameters: given.into(),
    }
    .into())
}

pub(super) fn type_set(arguments: &[Value]) -> Result<Type, AccessError> {
    let [Value::Hash(init)] = arguments else {
        return Err(AccessError::arity(
            "TypeSet-Type",
            1,
            Some(1),
            arguments.len(),
        ));
    };
    if init.is_empty() {
        return Ok(Type::type_set());
    }
    let text = |key: &str| init.get_str(key).and_then(Value::as_str);
    let version = text("version")
        .map(SemVer::parse)
        .transpose()
        .map_err(|error| AccessError::plain(error.to_string()))?;
    let types = init.get_str("types").and_then(Value::as_hash);
    let types = types.cloned().unwrap_or_default();
    Ok(TypeKind::TypeSet(Some(Arc::new(TypeSetType {
        name: text("name").map(Arc::from),
        version,
        types: types
            .iter()
            .filter_map(|(name, ty)| Some((name.as_str()?.into(), ty.as_type()?.clone())))
            .collect(),
        init: init.as_ref().clone().into(),
    })))
    .into())
}
