//! Rich data of types: `{"__ptype": "Pcore::IntegerType", "from": 1}`.
//!
//! Invariant: parameters are in Puppet's order, and those at the end that have no value are left
//! out.

use serde_json::{Value as Json, json};

use super::rich::{list, tagged, to_rich};
use super::{RichDataError, float};
use crate::types::{
    CallableType, IntRange, RuntimeName, StringType, StructElement, TupleType, Type, TypeKind,
};
use crate::value::Value;

type RichTypeFields = Vec<(&'static str, Json)>;

pub(super) fn type_to_rich(ty: &Type) -> Result<Json, RichDataError> {
    let fields = match ty.kind() {
        TypeKind::Object(object) => {
            let init = to_rich(&object.init_hash(true).into())?;
            return Ok(tagged(
                "Pcore::ObjectType",
                vec![("_pcore_init_hash", init)],
            ));
        }
        TypeKind::ObjectExtension { base, parameters } => {
            let fields = vec![
                ("base_type", type_to_rich(&base.clone().into())?),
                ("init_parameters", to_rich(parameters)?),
            ];
            return Ok(tagged("Pcore::ObjectTypeExtension", fields));
        }
        TypeKind::Alias(alias) => {
            let (Some(resolved), false) = (alias.resolved(), alias.is_recursive()) else {
                return Err(RichDataError::Recursive(alias.name().to_owned()));
            };
            vec![
                ("name", alias.name().into()),
                ("type_expr", Json::Null),
                ("resolved_type", type_to_rich(resolved)?),
            ]
        }
        TypeKind::TypeSet(set) => {
            let init = set.as_ref().map(|set| to_rich(&set.init)).transpose()?;
            init.map(|init| ("_pcore_init_hash", init))
                .into_iter()
                .collect()
        }
        TypeKind::Reference(text) => vec![("type_string", (&**text).into())],
        TypeKind::Unit => Vec::new(),
        _ => parameters(ty)?,
    };
    Ok(tagged(&format!("Pcore::{}Type", ty.word()), fields))
}

fn parameters(ty: &Type) -> Result<RichTypeFields, RichDataError> {
    Ok(match ty.kind() {
        TypeKind::Integer(range) => int_range(*range),
        TypeKind::Float(range) => ends(range.from.and_then(float), range.to.and_then(float)),
        TypeKind::String(StringType::Size(size)) => vec![("size_type_or_value", size_json(*size))],
        TypeKind::String(StringType::Value(text)) => vec![("size_type_or_value", (&**text).into())],
        TypeKind::Enum(texts) => {
            let values: Vec<&str> = texts.values().iter().map(AsRef::as_ref).collect();
            let mut fields = vec![("values", json!(values))];
            if texts.ignores_case() {
                fields.push(("case_insensitive", true.into()));
            }
            fields
        }
        TypeKind::Pattern(patterns) => {
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
        TypeKind::Boolean(Some(value)) => vec![("value", (*value).into())],
        TypeKind::Sensitive(inner) if !matches!(inner.kind(), TypeKind::Any) => {
            vec![("type", type_to_rich(inner)?)]
        }
        TypeKind::Regexp(Some(pattern)) => vec![("pattern", pattern.source().into())],
        TypeKind::Collection(size) => add_size(Vec::new(), *size),
        TypeKind::Array { element, size } => {
            let mut fields = Vec::new();
            if size.is_some() || !matches!(element.kind(), TypeKind::Any) {
                fields.push(("element_type", type_to_rich(element)?));
            }
            add_size(fields, *size)
        }
        TypeKind::Hash { key, value, size } => {
            let mut fields = Vec::new();
            if size.is_some() || *ty != Type::hash() {
                fields.push(("key_type", type_to_rich(key)?));
                fields.push(("value_type", type_to_rich(value)?));
            }
            add_size(fields, *size)
        }
        TypeKind::Tuple(tuple) => tuple_fields(tuple)?,
        TypeKind::Struct(elements) => {
            let elements: Result<Vec<Json>, RichDataError> = elements.iter().map(element).collect();
            vec![("elements", elements?.into())]
        }
        TypeKind::Variant(types) => vec![("types", types_json(types)?)],
        TypeKind::Optional(Some(inner))
        | TypeKind::NotUndef(Some(inner))
        | TypeKind::Type(Some(inner))
        | TypeKind::Iterable(Some(inner))
        | TypeKind::Iterator(Some(inner)) => vec![("type", type_to_rich(inner)?)],
        TypeKind::Callable(callable) => callable_fields(callable)?,
        TypeKind::Resource {
            type_name: Some(name),
            title,
        } => {
            let mut fields = vec![("type_name", Json::from(&**name))];
            fields.extend(title.as_ref().map(|title| ("title", Json::from(&**title))));
            fields
        }
        TypeKind::Class(Some(name)) => vec![("class_name", (&**name).into())],
        TypeKind::SemVer(ranges) if !ranges.is_empty() => {
            let ranges: Vec<Value> = ranges.iter().cloned().map(Value::SemVerRange).collect();
            vec![("ranges", list(&ranges)?)]
        }
        TypeKind::Timestamp(range) => time_ends(
            range.from.map(Value::Timestamp),
            range.to.map(Value::Timestamp),
        )?,
        TypeKind::Timespan(range) => time_ends(
            range.from.map(Value::Timespan),
            range.to.map(Value::Timespan),
        )?,
        TypeKind::Uri(Some(parameters)) => vec![("parameters", to_rich(parameters)?)],
        TypeKind::Runtime(runtime) => {
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
        TypeKind::Init(init) => {
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

/// Two parameters; the second is left out if it has no value, and so are both if neither has one.
fn ends_named(
    first: (&'static str, Option<Json>),
    second: (&'static str, Option<Json>),
) -> RichTypeFields {
    match (first.1, second.1) {
        (None, None) => Vec::new(),
        (from, None) => vec![(first.0, from.unwrap_or(Json::Null))],
        (from, Some(to)) => vec![(first.0, from.unwrap_or(Json::Null)), (second.0, to)],
    }
}

fn ends(from: Option<Json>, to: Option<Json>) -> RichTypeFields {
    ends_named(("from", from), ("to", to))
}

fn time_ends(from: Option<Value>, to: Option<Value>) -> Result<RichTypeFields, RichDataError> {
    let json = |end: Option<Value>| end.as_ref().map(to_rich).transpose();
    Ok(ends(json(from)?, json(to)?))
}

fn int_range(range: IntRange) -> RichTypeFields {
    ends(range.from.map(Json::from), range.to.map(Json::from))
}

fn size_json(size: IntRange) -> Json {
    tagged("Pcore::IntegerType", int_range(size))
}

fn add_size(mut fields: RichTypeFields, size: Option<IntRange>) -> RichTypeFields {
    fields.extend(size.map(|size| ("size_type", size_json(size))));
    fields
}

fn types_json(types: &[Type]) -> Result<Json, RichDataError> {
    let types: Result<Vec<Json>, RichDataError> = types.iter().map(type_to_rich).collect();
    Ok(types?.into())
}

fn tuple_fields(tuple: &TupleType) -> Result<RichTypeFields, RichDataError> {
    Ok(add_size(
        vec![("types", types_json(&tuple.types)?)],
        tuple.size,
    ))
}

fn element(element: &StructElement) -> Result<Json, RichDataError> {
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

fn callable_fields(callable: &CallableType) -> Result<RichTypeFields, RichDataError> {
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
