//! `validate_re`, `validate_integer` and the like, and `validate_legacy`, which also checks a type.
//!
//! They are older than types: each call logs a warning, except inside `validate_legacy`.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one};
use evaluator::{EvalResult, EvalUnwind, Evaluator, LogLevel, raise, ruby};
use pcore::{Type, Value, describe_mismatch};
use ruby_regex::Regex;

use super::deprecated::{is_absolute_path, is_ip, is_ipv4, is_ipv6};
use super::network::{is_domain, is_email};
use super::validate_numbers::{validate_integer, validate_numeric, validate_slength};
use crate::aliases;
use crate::old_api::{OldCall, class_name};

type ValidateFunction = fn(&Evaluator<'_>, &OldCall) -> EvalResult<()>;

/// The check of each function, for calls by name.
const VALIDATORS: [(&str, ValidateFunction); 14] = [
    ("validate_absolute_path", validate_absolute_path),
    ("validate_array", validate_array),
    ("validate_bool", validate_bool),
    ("validate_domain_name", validate_domain_name),
    ("validate_email_address", validate_email_address),
    ("validate_hash", validate_hash),
    ("validate_integer", validate_integer),
    ("validate_ip_address", validate_ip_address),
    ("validate_ipv4_address", validate_ipv4_address),
    ("validate_ipv6_address", validate_ipv6_address),
    ("validate_numeric", validate_numeric),
    ("validate_re", validate_re),
    ("validate_slength", validate_slength),
    ("validate_string", validate_string),
];

macro_rules! validators {
    ($($name:literal ($instead:literal, $raw:literal) => $run:path;)+) => {
        &[$(FunctionSpec::new($name, &[FunctionDispatch::new(&[any("Any", "args")], {
            fn entry(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
                let text = concat!(
                    "the function '", $name, "' is deprecated: give the parameter the type ", $instead
                );
                evaluator.warn_once($name, text, &call.location());
                let old = if $raw { OldCall::with_sensitive(call) } else { OldCall::of(evaluator, call)? };
                $run(evaluator, &old).map(|()| Value::Undef)
            }
            entry
        })])),+]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = validators! {
    "validate_absolute_path" ("Stdlib::Absolutepath", true) => validate_absolute_path;
    "validate_array" ("Array", true) => validate_array;
    "validate_bool" ("Boolean", true) => validate_bool;
    "validate_domain_name" ("Stdlib::Fqdn", false) => validate_domain_name;
    "validate_email_address" ("Stdlib::Email", false) => validate_email_address;
    "validate_hash" ("Hash", true) => validate_hash;
    "validate_integer" ("Integer", true) => validate_integer;
    "validate_ip_address" ("Stdlib::IP::Address", true) => validate_ip_address;
    "validate_ipv4_address" ("Stdlib::IP::Address::V4", true) => validate_ipv4_address;
    "validate_ipv6_address" ("Stdlib::IP::Address::V6", true) => validate_ipv6_address;
    "validate_numeric" ("Numeric", true) => validate_numeric;
    "validate_re" ("Pattern[..]", true) => validate_re;
    "validate_slength" ("String[..]", true) => validate_slength;
    "validate_string" ("String", true) => validate_string;
};

pub(super) static NEW: &[FunctionSpec] = &[
    FunctionSpec::new(
        "validate_legacy",
        &[
            FunctionDispatch::new(
                &[
                    one("Type", "target_type"),
                    one("String", "function_name"),
                    one("Any", "value"),
                    any("Any", "args"),
                ],
                validate_legacy,
            ),
            FunctionDispatch::new(
                &[
                    one("String", "type_string"),
                    one("String", "function_name"),
                    one("Any", "value"),
                    any("Any", "args"),
                ],
                validate_legacy,
            ),
        ],
    ),
    FunctionSpec::new(
        "stdlib::validate_domain_name",
        &[FunctionDispatch::new(
            &[any("Variant[Stdlib::Fqdn, Stdlib::Dns::Zone]", "values")],
            some_domains,
        )],
    )
    .with_types(&[
        ("Stdlib::Fqdn", aliases::FQDN),
        ("Stdlib::Dns::Zone", aliases::DNS_ZONE),
    ]),
    FunctionSpec::new(
        "stdlib::validate_email_address",
        &[FunctionDispatch::new(
            &[any("Stdlib::Email", "values")],
            some_addresses,
        )],
    )
    .with_types(&[("Stdlib::Email", aliases::EMAIL)]),
];

fn some_domains(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    if call.is_empty() {
        return raise(
            "stdlib::validate_domain_name(): Wrong number of arguments need at least one",
        );
    }
    Ok(Value::Undef)
}

fn some_addresses(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    if call.is_empty() {
        return raise(
            "stdlib::validate_email_address(): Wrong number of arguments need at least one",
        );
    }
    Ok(Value::Undef)
}

/// A value that the old function accepts is accepted, with a warning if the type does not accept
/// it.
fn validate_legacy(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let ty = match call.get(0) {
        Value::Type(ty) => ty.clone(),
        text => evaluator.parse_type(text.as_str().unwrap_or_default(), &[])?,
    };
    let (name, place, value) = (call.text(1), call.location(), call.get(2).clone());
    let fits = ty.is_instance(&value);
    let passed = previous(evaluator, &name, call)?;
    if fits {
        if !passed {
            let text = format!("Accepting previously invalid value for target type '{ty}'");
            evaluator.host().log(LogLevel::Notice, &text, &place);
        }
        return Ok(Value::Undef);
    }
    let subject = format!("validate_legacy({name})");
    let text = describe_mismatch(&subject, &ty, &Type::infer_detailed(&value));
    if !passed {
        return raise(text);
    }
    evaluator.host().log(LogLevel::Warning, &text, &place);
    Ok(Value::Undef)
}

/// True if the old function accepts the value.
fn previous(
    evaluator: &mut Evaluator<'_>,
    name: &str,
    call: CallArguments<'_>,
) -> EvalResult<bool> {
    let mut old = OldCall::with_sensitive(call);
    old.arguments.drain(..2);
    let known = VALIDATORS.iter().find(|(known, _)| *known == name);
    let result = match known {
        Some((_, validate)) => validate(evaluator, &old),
        None => evaluator.call_function(name, old.arguments, None).map(drop),
    };
    match result {
        Ok(()) => Ok(true),
        Err(unwind) => match *unwind {
            EvalUnwind::Error(error) if error.code == evaluator::RUNTIME_ERROR => Ok(false),
            other => Err(Box::new(other)),
        },
    }
}

fn some(old: &OldCall, name: &str) -> EvalResult<()> {
    if old.arguments.is_empty() {
        return raise(format!(
            "{name}(): wrong number of arguments (0; must be > 0)"
        ));
    }
    Ok(())
}

/// Refuses the first argument that is not of some kind.
fn each(old: &OldCall, name: &str, is: fn(&Value) -> bool, kind: &str) -> EvalResult<()> {
    some(old, name)?;
    match old.arguments.iter().find(|it| !is(it)) {
        Some(other) => raise(format!(
            "{} is not {kind}.  It looks to be a {}",
            ruby::inspect(other),
            class_name(other)
        )),
        None => Ok(()),
    }
}

fn validate_array(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    each(
        old,
        "validate_array",
        |it| matches!(it, Value::Array(_)),
        "an Array",
    )
}

fn validate_bool(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    each(
        old,
        "validate_bool",
        |it| matches!(it, Value::Bool(_)),
        "a boolean",
    )
}

fn validate_hash(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    each(
        old,
        "validate_hash",
        |it| matches!(it, Value::Hash(_)),
        "a Hash",
    )
}

fn validate_string(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    let is = |it: &Value| matches!(it, Value::Str(_) | Value::Undef);
    each(old, "validate_string", is, "a string")
}

fn validate_absolute_path(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    some(old, "validate_absolute_path")?;
    for argument in &old.arguments {
        let candidates = argument
            .as_array()
            .unwrap_or(std::slice::from_ref(argument));
        if let Some(path) = candidates.iter().find(|it| !is_absolute_path(it)) {
            return raise(format!("{} is not an absolute path.", ruby::inspect(path)));
        }
    }
    Ok(())
}

/// Refuses the first argument that is not a text, or that fails the predicate.
fn texts(old: &OldCall, name: &str, is: fn(&Value) -> bool, what: &str) -> EvalResult<()> {
    some(old, name)?;
    for argument in &old.arguments {
        if argument.as_str().is_none() {
            return raise(format!("{} is not a string.", ruby::inspect(argument)));
        }
        if !is(argument) {
            return raise(format!("{} is not a {what}", ruby::inspect(argument)));
        }
    }
    Ok(())
}

fn validate_domain_name(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    let is = |it: &Value| it.as_str().is_some_and(is_domain);
    texts(
        old,
        "validate_domain_name",
        is,
        "syntactically correct domain name",
    )
}

fn validate_email_address(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    let is = |it: &Value| it.as_str().is_some_and(is_email);
    texts(old, "validate_email_address", is, "valid email address")
}

fn validate_ip_address(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    texts(old, "validate_ip_address", is_ip, "valid IP address.")
}

fn validate_ipv4_address(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    texts(old, "validate_ipv4_address", is_ipv4, "valid IPv4 address.")
}

fn validate_ipv6_address(_: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    texts(old, "validate_ipv6_address", is_ipv6, "valid IPv6 address.")
}

fn validate_re(evaluator: &Evaluator<'_>, old: &OldCall) -> EvalResult<()> {
    if !matches!(old.len(), 2 | 3) {
        return raise(format!(
            "validate_re(): wrong number of arguments ({}; must be 2 or 3)",
            old.len()
        ));
    }
    let Value::Str(text) = old.get(0) else {
        return raise(format!(
            "validate_re(): input needs to be a String, not a {}",
            class_name(old.get(0))
        ));
    };
    for pattern in evaluator.flatten(&old.arguments[1..2])? {
        let regex = match &pattern {
            Value::Str(source) => Regex::new(source),
            Value::Regexp(regexp) => Regex::new(regexp.source()),
            other => {
                return raise(format!(
                    "no implicit conversion of {} into String",
                    class_name(other)
                ));
            }
        };
        let regex = regex.or_else(|error| raise(error.to_string()))?;
        if regex
            .is_match(text)
            .or_else(|error| raise(error.to_string()))?
        {
            return Ok(());
        }
    }
    match old.get(2) {
        Value::Undef | Value::Bool(false) => raise(format!(
            "validate_re(): {} does not match {}",
            ruby::inspect(old.get(0)),
            ruby::inspect(old.get(1))
        )),
        message => raise(ruby::to_s(message)),
    }
}
