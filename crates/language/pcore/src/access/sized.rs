//! Types with ranges and sizes.

use super::AccessError;
use super::arguments::{range, range_order_message, ruby_class, size, type_at};
use crate::convert::{timespan_from_value, timestamp_from_value};
use crate::text::ruby_float;
use crate::types::{FloatRange, TimeRange, Type, TypeKind};
use crate::value::{PuppetTimestamp, Timespan, Value};

pub(super) fn parameterize_sized(ty: &Type, arguments: &[Value]) -> Result<Type, AccessError> {
    match ty.kind() {
        TypeKind::Integer(_) => {
            let is_right = |value: &Value| matches!(value, Value::Int(_) | Value::Default);
            numbers("Integer", "integers", arguments, is_right)?;
            Ok(Type::integer_in(range(
                arguments.first(),
                arguments.get(1),
            )?))
        }
        TypeKind::Float(_) => float(arguments),
        TypeKind::String(_) => match arguments.len() {
            1 | 2 => Ok(Type::string_sized(size(arguments, 0)?)),
            given => Err(AccessError::new(
                "BAD_STRING_SLICE_ARITY",
                None,
                format!("String supports [] with one or two arguments. Got {given}"),
            )),
        },
        TypeKind::Collection(_) => match arguments.len() {
            1 | 2 => Ok(TypeKind::Collection(Some(size(arguments, 0)?.to_size())).into()),
            given => Err(AccessError::arity("Collection-Type", 1, Some(2), given)),
        },
        TypeKind::Array { .. } => array(arguments),
        TypeKind::Hash { .. } => hash(arguments),
        TypeKind::Timestamp(_) => {
            let (from, to) = times(ty, arguments, timestamp)?;
            Ok(TypeKind::Timestamp(time_range(from, to)?).into())
        }
        _ => {
            let (from, to) = times(ty, arguments, timespan)?;
            Ok(TypeKind::Timespan(time_range(from, to)?).into())
        }
    }
}

fn numbers(
    name: &str,
    kind: &str,
    arguments: &[Value],
    is_right: impl Fn(&Value) -> bool,
) -> Result<(), AccessError> {
    if !(1..=2).contains(&arguments.len()) {
        return Err(AccessError::new(
            "BAD_INTEGER_SLICE_ARITY",
            None,
            format!(
                "{name}-Type supports [] with one or two arguments (from, to). Got {}",
                arguments.len()
            ),
        ));
    }
    match arguments.iter().position(|argument| !is_right(argument)) {
        Some(index) => Err(AccessError::new(
            "BAD_INTEGER_SLICE_TYPE",
            Some(index),
            format!(
                "{name}-Type [] requires all arguments to be {kind} (or default). Got {}",
                ruby_class(&arguments[index])
            ),
        )),
        None => Ok(()),
    }
}

fn float(arguments: &[Value]) -> Result<Type, AccessError> {
    let is_right =
        |value: &Value| matches!(value, Value::Int(_) | Value::Float(_) | Value::Default);
    numbers("Float", "floats, or integers", arguments, is_right)?;
    #[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
    let end = |index: usize| match arguments.get(index) {
        Some(Value::Int(number)) => Some(*number as f64),
        Some(Value::Float(number)) => Some(*number),
        _ => None,
    };
    let (from, to) = (end(0), end(1));
    let range = FloatRange::new(from, to).ok_or_else(|| {
        let show = |end: Option<f64>| end.map_or_else(String::new, ruby_float);
        AccessError::plain(range_order_message(&show(from), &show(to)))
    })?;
    Ok(Type::float_in(range))
}

fn array(arguments: &[Value]) -> Result<Type, AccessError> {
    let base = "Array-Type";
    let is_type = matches!(arguments.first(), Some(Value::Type(_)));
    match arguments.len() {
        1 => Ok(Type::array_of(type_at(base, arguments, 0)?.clone())),
        2 if !is_type => Ok(Type::array_sized(Type::any(), Some(size(arguments, 0)?))),
        2 | 3 => {
            let element = type_at(base, arguments, 0)?.clone();
            Ok(Type::array_sized(element, Some(size(arguments, 1)?)))
        }
        given => Err(AccessError::arity(base, 1, Some(3), given)),
    }
}

fn hash(arguments: &[Value]) -> Result<Type, AccessError> {
    let base = "Hash-Type";
    if let [Value::Int(_), Value::Int(_)] = arguments {
        let size = size(arguments, 0)?;
        return Ok(Type::hash_sized(Type::any(), Type::any(), Some(size)));
    }
    for index in 0..arguments.len().min(2) {
        type_at(base, arguments, index)?;
    }
    let size = match arguments.len() {
        2 => None,
        3 | 4 => Some(size(arguments, 2)?),
        given => return Err(AccessError::arity(base, 2, Some(4), given)),
    };
    let (key, value) = (type_at(base, arguments, 0)?, type_at(base, arguments, 1)?);
    Ok(Type::hash_sized(key.clone(), value.clone(), size))
}

type OptionalBounds<T> = (Option<T>, Option<T>);

fn times<T>(
    ty: &Type,
    arguments: &[Value],
    read: fn(&Value) -> Result<Option<T>, AccessError>,
) -> Result<OptionalBounds<T>, AccessError> {
    if arguments.len() > 2 {
        let label = super::type_label_uc(ty);
        return Err(AccessError::arity(&label, 0, Some(2), arguments.len()));
    }
    let end = |index: usize| read(arguments.get(index).unwrap_or(&Value::Default));
    Ok((end(0)?, end(1)?))
}

fn timestamp(value: &Value) -> Result<Option<PuppetTimestamp>, AccessError> {
    let made = match value {
        Value::Default | Value::Undef => return Ok(None),
        Value::Timestamp(time) => return Ok(Some(*time)),
        other => timestamp_from_value(other)?,
    };
    match made {
        Value::Timestamp(time) => Ok(Some(time)),
        _ => Ok(None),
    }
}

fn timespan(value: &Value) -> Result<Option<Timespan>, AccessError> {
    let made = match value {
        Value::Default | Value::Undef => return Ok(None),
        Value::Timespan(span) => return Ok(Some(*span)),
        other => timespan_from_value(other)?,
    };
    match made {
        Value::Timespan(span) => Ok(Some(span)),
        _ => Ok(None),
    }
}

fn time_range<T: Copy + Ord + ToString>(
    from: Option<T>,
    to: Option<T>,
) -> Result<TimeRange<T>, AccessError> {
    TimeRange::new(from, to).ok_or_else(|| {
        let show = |end: Option<T>| end.map_or_else(String::new, |end| end.to_string());
        AccessError::plain(range_order_message(&show(from), &show(to)))
    })
}
