//! Numbers from texts, other numbers, booleans and times.
//!
//! Invariant: texts are read as Ruby's `Integer()` and `Float()` read them; a number that does not
//! fit into 64 bits is an error and is never truncated.

use super::ConversionError;
use super::constructor::{
    ConstructorParameters, ValueConstructor, general_refusal, hash_argument, named, struct_type,
};
use crate::describe::assert_instance;
use crate::types::{IntRange, Type};
use crate::value::{Regexp, Value};

const DECIMAL: &str = r"(?:0|[1-9]\d*)";
const HEX: &str = r"(?:0[xX][0-9A-Fa-f]+)";
const OCTAL: &str = r"(?:0[0-7]+)";
const BINARY: &str = r"(?:0[bB][01]+)";
const SIGN: &str = r"[+-]?\s*";

fn convertible(first: &str, bare_number: Vec<Type>) -> Type {
    let pattern = Regexp::new(format!(r"\A{SIGN}(?:{first}|{HEX}|{OCTAL}|{BINARY})\z"));
    let mut types = bare_number;
    types.extend([
        Type::boolean(),
        Type::pattern(vec![pattern]),
        Type::timespan(),
        Type::timestamp(),
    ]);
    named("Convertible", &Type::variant_of(types))
}

fn float_text() -> String {
    format!(r"(?:{DECIMAL}(?:\.\d+)?(?:[eE]-?\d+)?)")
}

/// Type of the values that can be converted to an integer.
fn integer_convertible() -> Type {
    let pattern = Regexp::new(format!(r"\A{SIGN}(?:(?:\d+)|{HEX}|{BINARY})\z"));
    let types = vec![
        Type::numeric(),
        Type::boolean(),
        Type::pattern(vec![pattern]),
        Type::timespan(),
        Type::timestamp(),
    ];
    named("Convertible", &Type::variant_of(types))
}

fn radix_type() -> Type {
    let mut radixes = vec![Type::default_type()];
    radixes.extend([2, 8, 10, 16].map(|radix| Type::integer_in(IntRange::exactly(radix))));
    named("Radix", &Type::variant_of(radixes))
}

fn integer_arguments() -> Type {
    let hash = struct_type(
        &[("from", integer_convertible())],
        &[("radix", radix_type()), ("abs", Type::boolean())],
    );
    named("NamedArgs", &hash)
}

pub(super) fn integer() -> ValueConstructor {
    ValueConstructor::new("new")
        .with_signature(
            ConstructorParameters::one("from", integer_convertible())
                .with_optional("radix", radix_type())
                .with_optional("abs", Type::boolean()),
            |arguments| make_integer(arguments.first(), arguments.get(1), arguments.get(2)),
        )
        .with_signature(
            ConstructorParameters::one("hash_args", integer_arguments()),
            |arguments| {
                let value = |name| hash_argument(arguments, name);
                make_integer(value("from"), value("radix"), value("abs"))
            },
        )
        .with_refusal(
            ConstructorParameters::one("hash_args", Type::hash()),
            refuse_integer_hash,
        )
        .with_refusal(
            ConstructorParameters::one("from", Type::any())
                .with_optional("radix", Type::integer())
                .with_optional("abs", Type::boolean()),
            |arguments| refuse_integer(arguments.first(), arguments.get(1)),
        )
}

fn refuse_integer(from: Option<&Value>, radix: Option<&Value>) -> ConversionError {
    match radix {
        None | Some(Value::Int(2 | 8 | 10 | 16) | Value::Default) => refuse(from, "Integer"),
        Some(radix) => ConversionError::Radix(radix.to_string()),
    }
}

fn refuse_integer_hash(arguments: &[Value]) -> ConversionError {
    let (from, radix) = (
        hash_argument(arguments, "from"),
        hash_argument(arguments, "radix"),
    );
    if from.is_some_and(|from| !integer_convertible().is_instance(from)) {
        return refuse(from, "Integer");
    }
    let given = arguments.first().unwrap_or(&Value::Undef);
    match refuse_integer(from, radix) {
        ConversionError::Radix(radix) => ConversionError::Radix(radix),
        said => match assert_instance("Integer.new", &integer_arguments(), given) {
            Err(mismatch) => mismatch.into(),
            Ok(()) => said,
        },
    }
}

fn refuse(from: Option<&Value>, to: &'static str) -> ConversionError {
    let from = from.unwrap_or(&Value::Undef);
    match from {
        Value::Str(text) => ConversionError::Text {
            text: text.to_string(),
            to,
        },
        _ => ConversionError::Value {
            from: general_refusal(from),
            to,
        },
    }
}

fn is_true(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_truthy)
}

fn make_integer(
    from: Option<&Value>,
    radix: Option<&Value>,
    abs: Option<&Value>,
) -> Result<Value, ConversionError> {
    let number = match from.unwrap_or(&Value::Undef) {
        Value::Int(number) => *number,
        Value::Float(number) => truncate(*number)?,
        Value::Bool(flag) => i64::from(*flag),
        Value::Timespan(span) => span.whole_seconds(),
        Value::Timestamp(time) => time.whole_seconds(),
        Value::Str(text) => integer_of_text(text, radix.and_then(Value::as_int))?,
        other => return Err(refuse(Some(other), "Integer")),
    };
    if is_true(abs) {
        let positive = number.checked_abs();
        let too_large = || ConversionError::TooLarge(number.unsigned_abs().to_string());
        return positive.map(Value::Int).ok_or_else(too_large);
    }
    Ok(Value::Int(number))
}

fn truncate(number: f64) -> Result<i64, ConversionError> {
    const BEHIND: f64 = 9_223_372_036_854_775_808.0;
    if !(-BEHIND..BEHIND).contains(&number) {
        return Err(ConversionError::TooLarge(crate::text::ruby_float(number)));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range was checked above"
    )]
    let whole = number.trunc() as i64;
    Ok(whole)
}

fn integer_of_text(text: &str, radix: Option<i64>) -> Result<i64, ConversionError> {
    let refused = || ConversionError::Number {
        function: "Integer()",
        text: format!("{text:?}"),
    };
    let (sign, digits) = split_sign(text).ok_or_else(refused)?;
    let lower = digits.to_ascii_lowercase();
    let radix = radix.and_then(|radix| u32::try_from(radix).ok());
    let prefixes = [("0x", 16), ("0b", 2), ("0o", 8), ("0d", 10), ("0", 8)];
    let prefix = prefixes.iter().find(|(prefix, of)| {
        lower.len() > prefix.len()
            && lower.starts_with(prefix)
            && (*prefix != "0" || radix.is_none_or(|radix| radix == *of))
    });
    let (body, radix) = match (prefix, radix) {
        (Some((prefix, of)), None) => (&lower[prefix.len()..], *of),
        (Some((prefix, of)), Some(radix)) if radix == *of => (&lower[prefix.len()..], radix),
        (_, radix) => (lower.as_str(), radix.unwrap_or(10)),
    };
    if body.is_empty() || !body.chars().all(|c| c.is_digit(radix)) {
        return Err(refused());
    }
    i64::from_str_radix(&format!("{sign}{body}"), radix)
        .map_err(|_| ConversionError::TooLarge(text.trim().to_owned()))
}

/// The sign and the text after it; blanks may follow the sign, or precede a text without a sign.
fn split_sign(text: &str) -> Option<(&'static str, &str)> {
    let blank = |c: char| c == ' ' || c == '\t';
    match text.strip_prefix(['+', '-']) {
        Some(rest) => {
            let sign = if text.starts_with('-') { "-" } else { "" };
            Some((sign, rest.trim_start_matches(blank)))
                .filter(|(_, rest)| !rest.starts_with(|c: char| c.is_whitespace()))
        }
        None => Some(("", text.trim_start())),
    }
}

pub(super) fn float() -> ValueConstructor {
    let from = convertible(&float_text(), vec![Type::numeric()]);
    number_constructor("new_float", from, make_float, |arguments| {
        refuse(arguments.first(), "Float")
    })
}

pub(super) fn numeric() -> ValueConstructor {
    let from = convertible(&float_text(), vec![Type::integer(), Type::float()]);
    number_constructor("new_numeric", from, make_numeric, |arguments| {
        refuse(arguments.first(), "Numeric")
    })
}

type MakeNumber = fn(Option<&Value>) -> Result<Value, ConversionError>;

fn number_constructor(
    name: &str,
    from: Type,
    make: MakeNumber,
    say: fn(&[Value]) -> ConversionError,
) -> ValueConstructor {
    let hash = struct_type(&[("from", from.clone())], &[("abs", Type::boolean())]);
    let hash = named("NamedArgs", &hash);
    let finish = |number: Value, abs: Option<&Value>| match number {
        Value::Float(number) if is_true(abs) => Ok(Value::Float(number.abs())),
        Value::Int(number) if is_true(abs) => make_integer(Some(&Value::Int(number)), None, abs),
        number => Ok(number),
    };
    ValueConstructor::new(name)
        .with_signature(
            ConstructorParameters::one("from", from).with_optional("abs", Type::boolean()),
            move |arguments| finish(make(arguments.first())?, arguments.get(1)),
        )
        .with_signature(
            ConstructorParameters::one("hash_args", hash),
            move |arguments| {
                finish(
                    make(hash_argument(arguments, "from"))?,
                    hash_argument(arguments, "abs"),
                )
            },
        )
        .with_refusal(
            ConstructorParameters::one("from", Type::any()).with_optional("abs", Type::boolean()),
            say,
        )
}

#[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
fn make_float(from: Option<&Value>) -> Result<Value, ConversionError> {
    Ok(Value::Float(match from.unwrap_or(&Value::Undef) {
        Value::Float(number) => *number,
        Value::Int(number) => *number as f64,
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::Timespan(span) => span.seconds(),
        Value::Timestamp(time) => time.seconds(),
        Value::Str(text) => float_of_text(text)?,
        other => return Err(refuse(Some(other), "Float")),
    }))
}

#[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
fn float_of_text(text: &str) -> Result<f64, ConversionError> {
    let refused = || ConversionError::Number {
        function: "Float()",
        text: format!("{text:?}"),
    };
    let (sign, digits) = split_sign(text).ok_or_else(refused)?;
    let lower = digits.to_ascii_lowercase();
    let magnitude = if lower.starts_with("0b") && !text.starts_with(['+', '-']) {
        integer_of_text(digits, None)? as f64
    } else if let Some(hex) = lower.strip_prefix("0x") {
        let number = u64::from_str_radix(hex, 16);
        number.map_err(|_| ConversionError::TooLarge(text.to_owned()))? as f64
    } else {
        lower.parse::<f64>().map_err(|_| refused())?
    };
    Ok(if sign == "-" { -magnitude } else { magnitude })
}

fn make_numeric(from: Option<&Value>) -> Result<Value, ConversionError> {
    match from.unwrap_or(&Value::Undef) {
        Value::Int(number) => Ok(Value::Int(*number)),
        Value::Bool(flag) => Ok(Value::Int(i64::from(*flag))),
        Value::Str(text) => numeric_of_text(text),
        other => make_float(Some(other)),
    }
}

/// The number in a text: an integer unless it has a fraction or an exponent.
fn numeric_of_text(text: &str) -> Result<Value, ConversionError> {
    let digits = text.trim_start_matches(['+', '-']).trim_start();
    let lower = digits.to_ascii_lowercase();
    let is_hex = lower.starts_with("0x") || lower.starts_with("0b");
    if !is_hex && lower.contains(['.', 'e']) {
        // a number that no float can represent becomes undef
        let number = float_of_text(text)?;
        return Ok(if number.is_finite() {
            Value::Float(number)
        } else {
            Value::Undef
        });
    }
    match integer_of_text(text, None) {
        // a leading zero with digits that are not octal
        Err(ConversionError::Number { .. }) => float_of_text(text).map(Value::Float),
        other => other.map(Value::Int),
    }
}
