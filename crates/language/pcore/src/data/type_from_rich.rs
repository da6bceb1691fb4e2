//! Types of rich data: `{"__ptype": "Pcore::IntegerType", "from": 1}` is `Integer[1]`.
//!
//! Invariant: types are created from arguments as in programs, so the checks of ranges and keys
//! apply.

use std::sync::Arc;

use super::RichDataError;
use super::from_rich::RichTypeLookup;
use crate::convert::ConversionError;
use crate::types::{
    CallableType, EnumType, InitType, ObjectTypeDefinition, StringType, StructElement, TupleType,
    Type, TypeKind,
};
use crate::value::{Hash, Value};

/// `None` if the fields are not those of such a type.
pub(super) fn type_from_rich(
    word: &str,
    fields: &Hash,
    lookup: RichTypeLookup<'_>,
) -> Option<Result<Value, RichDataError>> {
    if word == "StructElement" {
        return Some(Ok(fields.clone().into()));
    }
    let word = word.strip_suffix("Type").unwrap_or(word);
    match word {
        "Object" => return object(fields),
        "TypeAlias" => return Some(Ok(alias(fields, lookup)?.into())),
        "TypeReference" => {
            let text = fields.get_str("type_string")?.as_str()?;
            return Some(Ok(Type::reference(text).into()));
        }
        "Unit" => return Some(Ok(Type::unit().into())),
        "TypeSet" if !fields.is_empty() => {
            let init = fields.get_str("_pcore_init_hash")?;
            return Some(made(&Type::type_set(), std::slice::from_ref(init)));
        }
        _ => {}
    }
    let bare = Type::builtin(word)?;
    if fields.is_empty() {
        return Some(Ok(bare.into()));
    }
    if let Some(ty) = direct(&bare, fields) {
        return Some(Ok(ty.into()));
    }
    let arguments = arguments(&bare, fields)?;
    Some(made(&bare, &arguments))
}

fn made(bare: &Type, arguments: &[Value]) -> Result<Value, RichDataError> {
    bare.parameterize(arguments)
        .map_err(|error| RichDataError::Conversion(ConversionError::Arguments(error.to_string())))
}

fn object(fields: &Hash) -> Option<Result<Value, RichDataError>> {
    let init = fields.get_str("_pcore_init_hash")?.as_hash()?;
    if init.is_empty() {
        return Some(Ok(Type::object().into()));
    }
    let name = init.get_str("name").and_then(Value::as_str).map(Arc::from);
    let object = ObjectTypeDefinition::declare(name);
    Some(match object.define(init) {
        Ok(()) => Ok(Type::from(object).into()),
        Err(error) => Err(RichDataError::Conversion(ConversionError::Arguments(
            error.to_string(),
        ))),
    })
}

/// The alias if it is known here, otherwise the type that it had where it was written.
fn alias(fields: &Hash, lookup: RichTypeLookup<'_>) -> Option<Type> {
    let name = fields.get_str("name")?.as_str()?;
    match lookup(name) {
        Some(known) => Some(known),
        None => fields.get_str("resolved_type")?.as_type().cloned(),
    }
}

fn ty(fields: &Hash, name: &str) -> Option<Type> {
    fields.get_str(name)?.as_type().cloned()
}

fn types(fields: &Hash, name: &str) -> Option<Vec<Type>> {
    let values = fields.get_str(name)?.as_array()?;
    values
        .iter()
        .map(|value| value.as_type().cloned())
        .collect()
}

/// The types that arguments in brackets cannot express exactly.
fn direct(bare: &Type, fields: &Hash) -> Option<Type> {
    Some(match bare.kind() {
        TypeKind::String(_) => {
            let text = fields.get_str("size_type_or_value")?.as_str()?;
            Type::string_value(text)
        }
        TypeKind::Enum(_) => {
            let values = fields.get_str("values")?.as_array()?;
            let ignore_case = fields.get_str("case_insensitive") == Some(&Value::Bool(true));
            let values = values.iter().filter_map(Value::as_str).map(Arc::from);
            TypeKind::Enum(EnumType::new(values, ignore_case)).into()
        }
        TypeKind::Variant(_) => Type::variant_of(types(fields, "types")?),
        TypeKind::Optional(_) => Type::optional_of(ty(fields, "type")?),
        TypeKind::Sensitive(_) => TypeKind::Sensitive(ty(fields, "type")?).into(),
        TypeKind::NotUndef(_) => Type::not_undef_of(ty(fields, "type")?),
        TypeKind::Tuple(_) => TypeKind::Tuple(tuple(fields)?).into(),
        TypeKind::Struct(_) => {
            let elements = fields.get_str("elements")?.as_array()?;
            Type::struct_of(elements.iter().map(element).collect::<Option<_>>()?)
        }
        TypeKind::Callable(_) => {
            let parameters = match ty(fields, "param_types").as_ref().map(Type::kind) {
                Some(TypeKind::Tuple(tuple)) => Some(tuple.clone()),
                _ => None,
            };
            let (block, returns) = (ty(fields, "block_type"), ty(fields, "return_type"));
            Type::callable_of(CallableType::new(parameters, block, returns))
        }
        TypeKind::Init(_) => {
            let arguments = fields.get_str("init_args").and_then(Value::as_array);
            TypeKind::Init(InitType {
                ty: ty(fields, "type"),
                arguments: arguments.unwrap_or(&[]).to_vec(),
            })
            .into()
        }
        _ => return None,
    })
}

fn tuple(fields: &Hash) -> Option<TupleType> {
    let size = match ty(fields, "size_type").as_ref().map(Type::kind) {
        Some(TypeKind::Integer(range)) => Some(*range),
        _ => None,
    };
    Some(TupleType::new(types(fields, "types")?, size))
}

fn element(value: &Value) -> Option<StructElement> {
    let fields = value.as_hash()?;
    let key = ty(fields, "key_type")?;
    let (inner, optional) = match key.kind() {
        TypeKind::Optional(Some(inner)) => (inner.clone(), true),
        _ => (key.clone(), false),
    };
    match inner.kind() {
        TypeKind::String(StringType::Value(name)) => Some(StructElement::new(
            name.clone(),
            optional,
            ty(fields, "value_type")?,
        )),
        _ => None,
    }
}

/// The parameters of the type as a program would write them in brackets.
fn arguments(bare: &Type, fields: &Hash) -> Option<Vec<Value>> {
    let given = |name: &str| {
        fields
            .get_str(name)
            .filter(|value| !value.is_undef())
            .cloned()
    };
    let end = |name: &str| given(name).unwrap_or(Value::Default);
    let listed = |names: &[&str]| names.iter().filter_map(|name| given(name)).collect();
    Some(match bare.kind() {
        TypeKind::Integer(_)
        | TypeKind::Float(_)
        | TypeKind::Timestamp(_)
        | TypeKind::Timespan(_) => {
            vec![end("from"), end("to")]
        }
        TypeKind::String(_) => listed(&["size_type_or_value"]),
        TypeKind::Pattern(_) => fields.get_str("patterns")?.as_array()?.to_vec(),
        TypeKind::Regexp(_) => listed(&["pattern"]),
        TypeKind::Collection(_) => listed(&["size_type"]),
        TypeKind::Array { .. } => listed(&["element_type", "size_type"]),
        TypeKind::Hash { .. } => listed(&["key_type", "value_type", "size_type"]),
        TypeKind::Boolean(_) => listed(&["value"]),
        TypeKind::Type(_) | TypeKind::Iterable(_) | TypeKind::Iterator(_) => listed(&["type"]),
        TypeKind::Resource { .. } => listed(&["type_name", "title"]),
        TypeKind::Class(_) => listed(&["class_name"]),
        TypeKind::SemVer(_) => fields.get_str("ranges")?.as_array()?.to_vec(),
        TypeKind::Uri(_) => listed(&["parameters"]),
        TypeKind::Runtime(_) => listed(&["runtime", "name_or_pattern"]),
        _ => return None,
    })
}
