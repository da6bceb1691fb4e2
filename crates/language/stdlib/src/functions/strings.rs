//! Texts: `base64`, `unix2dos`, `squeeze`, `regexpescape`, `start_with` and their like.

use std::fmt::Write as _;

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::Value;

use crate::old_api::{OldCall, class_name, old_functions};
use crate::ruby::characters::CharacterSet;

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "dos2unix" => dos2unix, = 1;
    "regexpescape" => regexpescape;
    "reverse" => reverse;
    "squeeze" => squeeze;
    "swapcase" => swapcase;
    "unix2dos" => unix2dos, = 1;
    "uriescape" => uriescape;
};

const ENDS: &str = "Variant[String[1],Array[String[1], 1]]";

pub(super) static NEW: &[FunctionSpec] = &[
    FunctionSpec::new(
        "stdlib::start_with",
        &[FunctionDispatch::new(
            &[one("String", "test_string"), one(ENDS, "prefixes")],
            start_with,
        )
        .returning("Boolean")],
    ),
    FunctionSpec::new(
        "stdlib::end_with",
        &[FunctionDispatch::new(
            &[one("String", "test_string"), one(ENDS, "suffixes")],
            end_with,
        )
        .returning("Boolean")],
    ),
    FunctionSpec::new(
        "stdlib::xml_encode",
        &[FunctionDispatch::new(
            &[
                one("String", "str"),
                optional("Enum['text','attr']", "type"),
            ],
            xml_encode,
        )
        .returning("String")],
    ),
];

fn any_end(call: &CallArguments<'_>, is_end: impl Fn(&str) -> bool) -> Value {
    Value::Bool(match call.get(1) {
        Value::Array(ends) => ends.iter().filter_map(Value::as_str).any(is_end),
        one => one.as_str().is_some_and(is_end),
    })
}

fn start_with(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = call.text(0);
    Ok(any_end(&call, |end| text.starts_with(end)))
}

fn end_with(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = call.text(0);
    Ok(any_end(&call, |end| text.ends_with(end)))
}

fn xml_encode(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let is_attribute = call.get(1).as_str() == Some("attr");
    let text = call.text(0);
    evaluator.charge_bytes(text.len())?;
    let mut encoded = String::with_capacity(text.len() + 2);
    for c in text.chars() {
        match c {
            '&' => encoded.push_str("&amp;"),
            '<' => encoded.push_str("&lt;"),
            '>' => encoded.push_str("&gt;"),
            '"' if is_attribute => encoded.push_str("&quot;"),
            '\'' if is_attribute => encoded.push_str("&apos;"),
            other => encoded.push(other),
        }
    }
    Ok(Value::from(if is_attribute {
        format!("\"{encoded}\"")
    } else {
        encoded
    }))
}

/// Changes a text, or the texts of a list.
fn change_strings(
    evaluator: &Evaluator<'_>,
    old: &OldCall,
    name: &str,
    change: fn(&str) -> String,
) -> EvalResult {
    old.check_any_count(name, "1")?;
    let text = |text: &str| -> EvalResult {
        evaluator.charge_bytes(text.len())?;
        Ok(Value::from(change(text)))
    };
    match old.get(0) {
        Value::Str(one) => text(one),
        Value::Array(list) => {
            evaluator.charge(list.len())?;
            let one = |it: &Value| match it {
                Value::Str(it) => text(it),
                other => Ok(other.clone()),
            };
            list.iter()
                .map(one)
                .collect::<EvalResult<Vec<_>>>()
                .map(Value::array)
        }
        _ => raise(format!(
            "{name}(): Requires either array or string to work with"
        )),
    }
}

fn swapcase(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    change_strings(evaluator, old, "swapcase", |text| {
        text.chars().fold(String::new(), |mut swapped, c| {
            if c.is_uppercase() {
                swapped.extend(c.to_lowercase());
            } else {
                swapped.extend(c.to_uppercase());
            }
            swapped
        })
    })
}

fn regexpescape(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    change_strings(evaluator, old, "regexpescape", |text| {
        text.chars().fold(String::new(), |mut escaped, c| {
            match c {
                '\n' => escaped.push_str("\\n"),
                '\t' => escaped.push_str("\\t"),
                '\u{c}' => escaped.push_str("\\f"),
                '\u{b}' => escaped.push_str("\\v"),
                '\r' => escaped.push_str("\\r"),
                c if "[]{}()|-*.\\?+^$# ".contains(c) => escaped.extend(['\\', c]),
                other => escaped.push(other),
            }
            escaped
        })
    })
}

fn uriescape(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    change_strings(evaluator, old, "uriescape", |text| {
        text.bytes().fold(String::new(), |mut escaped, byte| {
            if byte.is_ascii_alphanumeric() || b"-_.!~*'();/?:@&=+$,[]".contains(&byte) {
                escaped.push(char::from(byte));
            } else {
                let _ = write!(escaped, "%{byte:02X}");
            }
            escaped
        })
    })
}

fn reverse(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    old.check_any_count("reverse", "1")?;
    match old.get(0) {
        Value::Str(text) => {
            evaluator.charge_bytes(text.len())?;
            Ok(Value::from(text.chars().rev().collect::<String>()))
        }
        Value::Array(list) => {
            evaluator.charge(list.len())?;
            Ok(Value::array(list.iter().rev().cloned().collect()))
        }
        _ => raise("reverse(): Requires either array or string to work with"),
    }
}

fn required_text<'o>(old: &'o OldCall, name: &str) -> EvalResult<&'o str> {
    match old.get(0) {
        Value::Str(text) => Ok(text),
        _ => raise(format!("{name}(): Requires string as argument")),
    }
}

fn dos2unix(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    let text = required_text(old, "dos2unix")?;
    evaluator.charge_bytes(text.len())?;
    Ok(Value::from(text.replace("\r\n", "\n")))
}

/// Any number of carriage returns before a line feed becomes one.
fn unix2dos(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    let text = required_text(old, "unix2dos")?;
    evaluator.charge_bytes(text.len())?;
    let mut lines: Vec<&str> = text.split('\n').collect();
    let last = lines.pop().unwrap_or_default();
    let mut dos = String::with_capacity(text.len());
    for line in lines {
        dos.push_str(line.trim_end_matches('\r'));
        dos.push_str("\r\n");
    }
    dos.push_str(last);
    Ok(Value::from(dos))
}

fn squeeze(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if !matches!(old.len(), 1 | 2) {
        return raise(format!(
            "squeeze(): Wrong number of arguments given {} for 2 or 1",
            old.len()
        ));
    }
    if old.list(0).is_some_and(|list| list.is_empty()) {
        return Ok(old.get(0).clone());
    }
    let set = match old.get(1) {
        Value::Undef | Value::Bool(false) => None,
        Value::Str(spec) => Some(CharacterSet::parse(spec).or_else(raise)?),
        other => {
            return raise(format!(
                "no implicit conversion of {} into String",
                class_name(other)
            ));
        }
    };
    let squeezed = |value: &Value| -> EvalResult {
        let Value::Str(text) = value else {
            return raise(format!(
                "undefined method `squeeze' for {}",
                ruby::inspect(value)
            ));
        };
        evaluator.charge_bytes(text.len())?;
        let mut short = String::with_capacity(text.len());
        for c in text.chars() {
            let is_squeezed = set.as_ref().is_none_or(|set| set.contains(c));
            if !(is_squeezed && short.ends_with(c)) {
                short.push(c);
            }
        }
        Ok(Value::from(short))
    };
    match old.get(0) {
        Value::Array(list) => {
            evaluator.charge(list.len())?;
            list.iter()
                .map(squeezed)
                .collect::<EvalResult<Vec<_>>>()
                .map(Value::array)
        }
        one => squeezed(one),
    }
}
