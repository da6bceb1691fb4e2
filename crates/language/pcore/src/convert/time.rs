//! Times from seconds, texts and parts.
//!
//! Invariant: nothing here reads a clock; the evaluator supplies the time for `Timestamp()`.

use super::ConversionError;
use super::constructor::{
    ConstructorParameters, ValueConstructor, hash_argument, named, struct_type,
};
use crate::time::TimeError;
use crate::types::{IntRange, StringType, Type, TypeKind};
use crate::value::{NANOS_PER_SECOND, PuppetTimestamp, Timespan, Value};

fn formats() -> Type {
    let format: Type = TypeKind::String(StringType::Size(IntRange {
        from: Some(2),
        to: None,
    }))
    .into();
    let several = Type::array_sized(format.clone(), Some(IntRange::NOT_EMPTY));
    named("Formats", &Type::variant_of(vec![format, several]))
}

fn seconds() -> Type {
    Type::variant_of(vec![Type::integer(), Type::float()])
}

/// The nanoseconds of a number of seconds.
fn nanos_of(value: Option<&Value>) -> Result<i128, ConversionError> {
    match value {
        Some(Value::Int(seconds)) => Ok(i128::from(*seconds) * NANOS_PER_SECOND),
        Some(Value::Float(seconds)) => {
            let nanos = seconds * 1e9;
            if !nanos.is_finite() || nanos.abs() > 1e30 {
                return Err(TimeError::OutOfRange.into());
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the range was checked above"
            )]
            let whole = nanos.trunc() as i128;
            Ok(whole)
        }
        _ => Ok(0),
    }
}

fn span(nanos: i128) -> Result<Value, ConversionError> {
    let span = Timespan::from_nanos(nanos).ok_or(TimeError::OutOfRange)?;
    Ok(Value::Timespan(span))
}

/// The list of formats in a value; `None` if no format is given.
fn format_list(value: Option<&Value>) -> Option<Vec<&str>> {
    match value {
        Some(Value::Array(formats)) => Some(formats.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

pub(super) fn timespan() -> ValueConstructor {
    let integer = Type::integer;
    let of_text = struct_type(
        &[("string", Type::non_empty_string())],
        &[("format", formats())],
    );
    let of_parts = struct_type(
        &[],
        &[
            ("negative", Type::boolean()),
            ("days", integer()),
            ("hours", integer()),
            ("minutes", integer()),
            ("seconds", integer()),
            ("milliseconds", integer()),
            ("microseconds", integer()),
            ("nanoseconds", integer()),
        ],
    );
    ValueConstructor::new("new_timespan")
        .with_signature(
            ConstructorParameters::one("seconds", seconds()),
            |arguments| span(nanos_of(arguments.first())?),
        )
        .with_signature(
            ConstructorParameters::one("string", Type::non_empty_string())
                .with_optional("format", formats()),
            |arguments| span_of_text(arguments.first(), arguments.get(1)),
        )
        .with_signature(
            ConstructorParameters::one("days", integer())
                .with_required("hours", integer())
                .with_required("minutes", integer())
                .with_required("seconds", integer())
                .with_optional("milliseconds", integer())
                .with_optional("microseconds", integer())
                .with_optional("nanoseconds", integer()),
            |arguments| span_of_parts(false, |index, _| arguments.get(index)),
        )
        .with_signature(
            ConstructorParameters::one("hash_arg", of_text),
            |arguments| {
                span_of_text(
                    hash_argument(arguments, "string"),
                    hash_argument(arguments, "format"),
                )
            },
        )
        .with_signature(
            ConstructorParameters::one("hash_arg", of_parts),
            |arguments| {
                let negative = hash_argument(arguments, "negative").is_some_and(Value::is_truthy);
                span_of_parts(negative, |_, name| hash_argument(arguments, name))
            },
        )
}

/// A timespan from the hash that its constructor accepts.
pub(crate) fn timespan_from_value(value: &Value) -> Result<Value, ConversionError> {
    timespan().call(std::slice::from_ref(value))
}

/// A timestamp from the hash that its constructor accepts.
pub(crate) fn timestamp_from_value(value: &Value) -> Result<Value, ConversionError> {
    timestamp().call(std::slice::from_ref(value))
}

fn span_of_text(text: Option<&Value>, format: Option<&Value>) -> Result<Value, ConversionError> {
    let text = text.and_then(Value::as_str).unwrap_or_default();
    let span = match format {
        Some(Value::Str(format)) => Timespan::parse_as(text, format)?,
        _ => Timespan::parse(text, format_list(format).as_deref())?,
    };
    Ok(Value::Timespan(span))
}

fn span_of_parts<'a>(
    negative: bool,
    part: impl Fn(usize, &str) -> Option<&'a Value>,
) -> Result<Value, ConversionError> {
    const PARTS: [(&str, i128); 7] = [
        ("days", 86_400_000_000_000),
        ("hours", 3_600_000_000_000),
        ("minutes", 60_000_000_000),
        ("seconds", 1_000_000_000),
        ("milliseconds", 1_000_000),
        ("microseconds", 1_000),
        ("nanoseconds", 1),
    ];
    let nanos: i128 = PARTS
        .iter()
        .enumerate()
        .map(|(index, (name, scale))| {
            let number = part(index, name).and_then(Value::as_int).unwrap_or(0);
            i128::from(number) * scale
        })
        .sum();
    span(if negative { -nanos } else { nanos })
}

pub(super) fn timestamp() -> ValueConstructor {
    let text = Type::non_empty_string;
    let of_text = struct_type(
        &[("string", text())],
        &[("format", formats()), ("timezone", text())],
    );
    ValueConstructor::new("new_timestamp")
        .with_signature(ConstructorParameters::none(), |_| {
            Err(ConversionError::NeedsClock)
        })
        .with_signature(
            ConstructorParameters::one("seconds", seconds()),
            |arguments| {
                let time = PuppetTimestamp::from_nanos(nanos_of(arguments.first())?);
                Ok(Value::Timestamp(time.ok_or(TimeError::OutOfRange)?))
            },
        )
        .with_signature(
            ConstructorParameters::one("string", text())
                .with_optional("format", formats())
                .with_optional("timezone", text()),
            |arguments| stamp_of_text(arguments.first(), arguments.get(1), arguments.get(2)),
        )
        .with_signature(
            ConstructorParameters::one("hash_arg", of_text),
            |arguments| {
                stamp_of_text(
                    hash_argument(arguments, "string"),
                    hash_argument(arguments, "format"),
                    hash_argument(arguments, "timezone"),
                )
            },
        )
}

fn stamp_of_text(
    text: Option<&Value>,
    format: Option<&Value>,
    zone: Option<&Value>,
) -> Result<Value, ConversionError> {
    let text = text.and_then(Value::as_str).unwrap_or_default();
    let zone = zone.and_then(Value::as_str);
    let time = match format {
        Some(Value::Str(format)) => PuppetTimestamp::parse_as(text, format, zone)?,
        _ => PuppetTimestamp::parse(text, format_list(format).as_deref(), zone)?,
    };
    Ok(Value::Timestamp(time))
}
