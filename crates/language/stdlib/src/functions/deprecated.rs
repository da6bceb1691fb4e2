//! Functions that are superseded by types and newer functions: `is_array`, `is_string`,
//! `sprintf_hash` and the like, and `deprecation` itself.
//!
//! They work, and each call logs a warning. (Puppet with `strict=error` refuses them.)

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one, optional};
use evaluator::{EvalResult, Evaluator, raise};
use pcore::{Value, ruby_float};

use super::random::is_integer;
use crate::old_api::OldCall;
use crate::ruby::address::IpNetworkAddress;
use crate::ruby::numbers::{to_f, to_i};
use crate::ruby::paths;

/// A predicate on the kind of a value.
type ValuePredicate = fn(&Value) -> bool;

macro_rules! predicates {
    ($($name:literal ($instead:literal, $raw:literal, $wrong:literal) => $is:path;)+) => {
        &[$(FunctionSpec::new($name, &[FunctionDispatch::new(&[any("Any", "args")], {
            fn entry(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
                warn(evaluator, &call, $name, $instead);
                let old = if $raw { OldCall::with_sensitive(call) } else { OldCall::of(evaluator, call)? };
                predicate(&old, $name, $wrong, $is)
            }
            entry
        })])),+]
    };
}

/// The third word is the end of stdlib's message about a wrong number of arguments; `any`: more
/// than one is accepted.
pub(super) static FUNCTIONS: &[FunctionSpec] = predicates! {
    "is_absolute_path" ("Stdlib::Absolutepath", true, "exactly") => is_absolute_path;
    "is_array" ("Array", true, "any") => is_array;
    "is_bool" ("Boolean", true, "one") => is_bool;
    "is_float" ("Float", true, "plain") => is_float;
    "is_hash" ("Hash", false, "one") => is_hash;
    "is_integer" ("Integer", false, "plain") => is_integer;
    "is_ip_address" ("Stdlib::IP::Address", true, "plain") => is_ip;
    "is_ipv4_address" ("Stdlib::IP::Address::V4", true, "plain") => is_ipv4;
    "is_ipv6_address" ("Stdlib::IP::Address::V6", true, "plain") => is_ipv6;
    "is_numeric" ("Numeric", true, "plain") => is_numeric;
    "is_string" ("String", true, "any") => is_string;
};

pub(super) static OTHERS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "deprecation",
        &[FunctionDispatch::new(
            &[
                one("String", "key"),
                one("String", "message"),
                optional("Boolean", "use_strict_setting"),
            ],
            deprecation,
        )],
    ),
    FunctionSpec::new(
        "sprintf_hash",
        &[FunctionDispatch::new(
            &[one("String", "format"), one("Hash", "arguments")],
            sprintf_hash,
        )],
    ),
];

fn warn(evaluator: &Evaluator<'_>, call: &CallArguments<'_>, name: &str, instead: &str) {
    let text = format!("the function '{name}' is deprecated: match with `=~ {instead}`");
    evaluator.warn_once(name, &text, &call.location());
}

fn predicate(old: &OldCall, name: &str, wrong: &str, is: ValuePredicate) -> EvalResult {
    let count = old.len();
    match (wrong, count) {
        (_, 1) => {}
        ("any", 2..) => {}
        ("exactly", _) => old.check_exact_count(name, 1)?,
        ("plain", _) => {
            return raise(format!(
                "{name}(): Wrong number of arguments given {count} for 1"
            ));
        }
        _ => {
            return raise(format!(
                "{name}(): Wrong number of arguments given ({count} for 1)"
            ));
        }
    }
    Ok(Value::Bool(is(old.get(0))))
}

pub(super) fn is_absolute_path(value: &Value) -> bool {
    value.as_str().is_some_and(paths::is_absolute)
}

fn is_array(value: &Value) -> bool {
    matches!(value, Value::Array(_))
}

fn is_bool(value: &Value) -> bool {
    matches!(value, Value::Bool(_))
}

fn is_hash(value: &Value) -> bool {
    matches!(value, Value::Hash(_))
}

fn is_float(value: &Value) -> bool {
    match value {
        Value::Float(_) => true,
        Value::Str(text) => **text == *ruby_float(to_f(text)),
        _ => false,
    }
}

/// A text that is the text of a number does not count as a string.
fn is_string(value: &Value) -> bool {
    match value {
        Value::Undef => true,
        Value::Str(text) => **text != *ruby_float(to_f(text)) && **text != *to_i(text).to_string(),
        _ => false,
    }
}

fn is_numeric(value: &Value) -> bool {
    match value {
        // times are numbers of Ruby
        Value::Int(_) | Value::Float(_) | Value::Timespan(_) | Value::Timestamp(_) => true,
        Value::Str(text) => text.split('\n').any(is_number),
        _ => false,
    }
}

/// Numbers such as `-1.5e-3`: no leading zeros, and digits after a point.
fn is_number(line: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let line = line.strip_prefix('-').unwrap_or(line);
    let (mantissa, exponent) = match line.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (line, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|it| digits(it.strip_prefix('-').unwrap_or(it)))
}

fn address(value: &Value) -> Option<IpNetworkAddress> {
    value
        .as_str()
        .and_then(|text| IpNetworkAddress::parse(text).ok())
}

pub(super) fn is_ip(value: &Value) -> bool {
    address(value).is_some()
}

pub(super) fn is_ipv4(value: &Value) -> bool {
    address(value).is_some_and(|it| !it.is_v6)
}

pub(super) fn is_ipv6(value: &Value) -> bool {
    address(value).is_some_and(|it| it.is_v6)
}

fn deprecation(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    evaluator.warn_once(&call.text(0), &call.text(1), &call.location());
    Ok(Value::Undef)
}

fn sprintf_hash(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = "the function 'sprintf_hash' is deprecated: sprintf takes a hash";
    evaluator.warn_once("sprintf_hash", text, &call.location());
    evaluator.call_function("sprintf", call.arguments, None)
}
