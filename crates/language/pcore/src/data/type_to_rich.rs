//! Rich data of types: `{"__ptype": "Pcore::IntegerType", "from": 1}`.
//!
//! Invariant: parameters stand in Puppet's order, and those at the end that say nothing are
//! left out.

use serde_json::{Value as Json, json};

use super::rich::{list, tagged, to_rich};
use super::{DataError, float};
use crate::types::{
    CallableType, IntRange, Kind, RuntimeName, StringType, StructElement, TupleType, Type,
};
use crate::value::Value;

type Fields = Vec<(&'static str, Json)>;

pub(super) fn type_to_rich(ty: &Type) -> Result<Json, DataError> {
    let fields = match ty.kind() {
        Kind::Object(object) => {
            let init = to_rich(&object.init_hash(true).into())?;
            return Ok(tagged(
                "Pcore::ObjectType",
                vec![("_pcore_init_hash", init)],
            ));
        }
        Kind::ObjectExtension { base, parameters } => {
            let fields = vec![
                ("base_type", type_to_rich(&base.clone().into())?),
                ("init_parameters", to_rich(parameters)?),
            ];
            return Ok(tagged("Pcore::ObjectTypeExtension", fields));
        }
        Kind::Alias(alias) => {
            let (Some(resolved), false) = (alias.resolved(), alias.is_recursive()) else {
                return Err(DataError::Recursive(alias.name().to_owned()));
            };
            vec![
                ("name", alias.name().into()),
                ("type_expr", Json::Null),
                ("resolved_type", type_to_rich(resolved)?),
            ]
        }
        Kind::TypeSet(set) => {
            let init = set.as_ref().map(|set| to_rich(&set.init)).transpose()?;
            init.map(|init| ("_pcore_init_hash", init))
                .into_iter()
                .collect()
        }
        Kind::Reference(text) => vec![("type_string", (&**text).into())],
        Kind::Unit => Vec::new(),
        _ => parameters(ty)?,
    };
    Ok(tagged(&format!("Pcore::{}Type", ty.word()), fields))
}

fn parameters(ty: &Type) -> Result<Fields, DataError> {
    Ok(match ty.kind() {
        Kind::Integer(range) => int_range(*range),
        Kind::Float(range) => ends(range.from.and_then(float), range.to.and_then(float)),
        Kind::String(StringType::Size(size)) => vec![("size_type_or_value", size_json(*size))],
        Kind::String(StringType::Value(text)) => vec![("size_type_or_value", (&**text).into())],
        Kind::Enum(texts) => {
            let values: Vec<&str> = texts.values().iter().map(AsRef::as_ref).collect();
            let mut fields = vec![("values", json!(values))];
            if texts.ignores_case() {
                fields.push(("case_insensitive", true.into()));
            }
            fields
        }
        Kind::Pattern(patterns) => {
            let patterns: Vec<Json> = patterns
                .iter()
                .map(|pattern| {
                    tagged(
                        "Pcore::RegexpType",
                        vec![("pattern", pattern.source().into())],
                    )
                })
                .collect();
            vec![("patterns", patterns.into())]
        }
        // Puppet leaves these two out and so loses them
        Kind::Boolean(Some(value)) => vec![("value", (*value).into())],
        Kind::Sensitive(inner) if !matches!(inner.kind(), Kind::Any) => {
            vec![("type", type_to_rich(inner)?)]
        }
        Kind::Regexp(Some(pattern)) => vec![("pattern", pattern.source().into())],
        Kind::Collection(size) => sized(Vec::new(), *size),
        Kind::Array { element, size } => {
            let mut fields = Vec::new();
            if size.is_some() || !matches!(element.kind(), Kind::Any) {
                fields.push(("element_type", type_to_rich(element)?));
            }
            sized(fields, *size)
        }
        Kind::Hash { key, value, size } => {
            let mut fields = Vec::new();
            if size.is_some() || *ty != Type::hash() {
                fields.push(("key_type", type_to_rich(key)?));
                fields.push(("value_type", type_to_rich(value)?));
            }
            sized(fields, *size)
        }
        Kind::Tuple(tuple) => tuple_fields(tuple)?,
        Kind::Struct(elements) => {
            let elements: Result<Vec<Json>, DataError> = elements.iter().map(element).collect();
            vec![("elements", elements?.into())]
        }
        Kind::Variant(types) => vec![("types", types_json(types)?)],
        Kind::Optional(Some(inner))
        | Kind::NotUndef(Some(inner))
        | Kind::Type(Some(inner))
        | Kind::Iterable(Some(inner))
        | Kind::Iterator(Some(inner)) => vec![("type", type_to_rich(inner)?)],
        Kind::Callable(callable) => callable_fields(callable)?,
        Kind::Resource {
            type_name: Some(name),
            title,
        } => {
            let mut fields = vec![("type_name", Json::from(&**name))];
            fields.extend(title.as_ref().map(|title| ("title", Json::from(&**title))));
            fields
        }
        Kind::Class(Some(name)) => vec![("class_name", (&**name).into())],
        Kind::SemVer(ranges) if !ranges.is_empty() => {
            let ranges: Vec<Value> = ranges.iter().cloned().map(Value::SemVerRange).collect();
            vec![("ranges", list(&ranges)?)]
        }
        Kind::Timestamp(range) => time_ends(
            range.from.map(Value::Timestamp),
            range.to.map(Value::Timestamp),
        )?,
        Kind::Timespan(range) => time_ends(
            range.from.map(Value::Timespan),
            range.to.map(Value::Timespan),
        )?,
        Kind::Uri(Some(parameters)) => vec![("parameters", to_rich(parameters)?)],
        Kind::Runtime(runtime) => {
            let symbol = |name: &str| tagged("Symbol", vec![(super::VALUE_KEY, name.into())]);
            let name = match &runtime.name {
                Some(RuntimeName::Name(name)) => Some(Json::from(&**name)),
                Some(RuntimeName::Pattern(pattern, name)) => {
                    let pattern = to_rich(&Value::Regexp(pattern.clone()))?;
                    Some(json!([pattern, &**name]))
                }
                None => None,
            };
            ends_named(
                ("runtime", runtime.runtime.as_deref().map(symbol)),
                ("name_or_pattern", name),
            )
        }
        Kind::Init(init) => {
            let mut fields = Vec::new();
            if let Some(ty) = &init.ty {
                fields.push(("type", type_to_rich(ty)?));
            }
            if !init.arguments.is_empty() {
                fields.push(("init_args", list(&init.arguments)?));
            }
            fields
        }
        _ => Vec::new(),
    })
}

/// Two parameters of which the second may be left out, and both if neither is there.
fn ends_named(first: (&'static str, Option<Json>), second: (&'static str, Option<Json>)) -> Fields {
    match (first.1, second.1) {
        (None, None) => Vec::new(),
        (from, None) => vec![(first.0, from.unwrap_or(Json::Null))],
        (from, Some(to)) => vec![(first.0, from.unwrap_or(Json::Null)), (second.0, to)],
    }
}

fn ends(from: Option<Json>, to: Option<Json>) -> Fields {
    ends_named(("from", from), ("to", to))
}

fn time_ends(from: Option<Value>, to: Option<Value>) -> Result<Fields, DataError> {
    let json = |end: Option<Value>| end.as_ref().map(to_rich).transpose();
    Ok(ends(json(from)?, json(to)?))
}

fn int_range(range: IntRange) -> Fields {
    ends(range.from.map(Json::from), range.to.map(Json::from))
}

fn size_json(size: IntRange) -> Json {
    tagged("Pcore::IntegerType", int_range(size))
}

fn sized(mut fields: Fields, size: Option<IntRange>) -> Fields {
    fields.extend(size.map(|size| ("size_type", size_json(size))));
    fields
}

fn types_json(types: &[Type]) -> Result<Json, DataError> {
    let types: Result<Vec<Json>, DataError> = types.iter().map(type_to_rich).collect();
    Ok(types?.into())
}

fn tuple_fields(tuple: &TupleType) -> Result<Fields, DataError> {
    Ok(sized(
        vec![("types", types_json(&tuple.types)?)],
        tuple.size,
    ))
}

fn element(element: &StructElement) -> Result<Json, DataError> {
    let name = Type::string_value(element.name.clone());
    let key = if element.optional {
        Type::optional_of(name)
    } else {
        name
    };
    let fields = vec![
        ("key_type", type_to_rich(&key)?),
        ("value_type", type_to_rich(&element.value)?),
    ];
    Ok(tagged("Pcore::StructElement", fields))
}

fn callable_fields(callable: &CallableType) -> Result<Fields, DataError> {
    let parameters = match &callable.parameters {
        Some(tuple) => tagged("Pcore::TupleType", tuple_fields(tuple)?),
        None => Json::Null,
    };
    let optional = |ty: &Option<Type>| match ty {
        Some(ty) => type_to_rich(ty),
        None => Ok(Json::Null),
    };
    Ok(vec![
        ("param_types", parameters),
        ("block_type", optional(&callable.block)?),
        ("return_type", optional(&callable.returns)?),
    ])
}
