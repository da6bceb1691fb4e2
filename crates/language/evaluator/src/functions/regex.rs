//! `match`, `regsubst`, `split`.

use std::rc::Rc;

use pcore::{Regexp, Type, TypeKind, Value};
use ruby_regex::RegexFlags;

use crate::Evaluator;
use crate::error::{EvalResult, raise};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use crate::{label, ruby};

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "match",
        &[
            FunctionDispatch::new(
                &[
                    one("String", "string"),
                    one("Variant[Any, Type]", "pattern"),
                ],
                match_text,
            ),
            FunctionDispatch::new(
                &[
                    one("Array[String]", "string"),
                    one("Variant[Any, Type]", "pattern"),
                ],
                match_list,
            ),
        ],
    ),
    FunctionSpec::new(
        "regsubst",
        &[
            FunctionDispatch::new(
                &[
                    one("Variant[Array[String],String]", "target"),
                    one("String", "pattern"),
                    one("Variant[String,Hash[String,String]]", "replacement"),
                    optional("Optional[Pattern[/^[GEIM]*$/]]", "flags"),
                    optional("Enum['N','E','S','U']", "encoding"),
                ],
                substitute,
            ),
            FunctionDispatch::new(
                &[
                    one("Variant[Array[String],String]", "target"),
                    one("Variant[Regexp,Type[Regexp]]", "pattern"),
                    one("Variant[String,Hash[String,String]]", "replacement"),
                    optional("Pattern[/^G?$/]", "flags"),
                ],
                substitute,
            ),
        ],
    ),
    FunctionSpec::new(
        "split",
        &[
            FunctionDispatch::new(&[one("String", "str"), one("String", "pattern")], split),
            FunctionDispatch::new(&[one("String", "str"), one("Regexp", "pattern")], split),
            FunctionDispatch::new(
                &[one("String", "str"), one("Type[Regexp]", "pattern")],
                split,
            ),
            FunctionDispatch::new(
                &[
                    one("Sensitive[String]", "sensitive"),
                    one("String", "pattern"),
                ],
                split_sensitive,
            ),
            FunctionDispatch::new(
                &[
                    one("Sensitive[String]", "sensitive"),
                    one("Regexp", "pattern"),
                ],
                split_sensitive,
            ),
            FunctionDispatch::new(
                &[
                    one("Sensitive[String]", "sensitive"),
                    one("Type[Regexp]", "pattern"),
                ],
                split_sensitive,
            ),
        ],
    ),
];

fn match_text(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    groups(evaluator, &call.text(0), call.get(1))
}

fn match_list(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let mut found = Vec::new();
    for text in call.list(0).iter() {
        let text = text.as_str().unwrap_or_default();
        found.push(groups(evaluator, text, call.get(1))?);
    }
    Ok(Value::array(found))
}

/// Returns the groups of the first pattern that matches, or `undef`.
fn groups(evaluator: &mut Evaluator<'_>, text: &str, pattern: &Value) -> EvalResult {
    match pattern {
        Value::Str(source) => search_groups(evaluator, text, source),
        Value::Regexp(regexp) => search_groups(evaluator, text, regexp.source()),
        Value::Array(patterns) => {
            for pattern in ruby::flatten(patterns) {
                let found = groups(evaluator, text, &pattern)?;
                if !found.is_undef() {
                    return Ok(found);
                }
            }
            Ok(Value::Undef)
        }
        Value::Type(ty) => by_type(evaluator, text, ty),
        other => raise(format!(
            "match() expects pattern of T, where T is String, Regexp, Regexp[r], Pattern[p], or Array[T]. Got {}",
            label::ruby_class(other)
        )),
    }
}

fn by_type(evaluator: &mut Evaluator<'_>, text: &str, ty: &Type) -> EvalResult {
    match ty.unaliased().unwrap_or(ty).kind() {
        TypeKind::Regexp(Some(regexp)) => search_groups(evaluator, text, regexp.source()),
        TypeKind::Regexp(None) => raise("Given Regexp Type has no regular expression"),
        TypeKind::Pattern(patterns) => {
            for pattern in patterns {
                let found = search_groups(evaluator, text, pattern.source())?;
                if !found.is_undef() {
                    return Ok(found);
                }
            }
            Ok(Value::Undef)
        }
        TypeKind::Variant(types) => {
            for ty in types {
                let found = by_type(evaluator, text, ty)?;
                if !found.is_undef() {
                    return Ok(found);
                }
            }
            Ok(Value::Undef)
        }
        _ => raise(
            "match() expects pattern of T, where T is String, Regexp, Regexp[r], Pattern[p], or Array[T]. Got Puppet::Pops::Types::PAnyType",
        ),
    }
}

fn search_groups(evaluator: &mut Evaluator<'_>, text: &str, source: &str) -> EvalResult {
    match evaluator.regex(source)?.captures(text) {
        Ok(Some(found)) => {
            evaluator.charge_bytes(text.len())?;
            Ok(Value::array(
                found
                    .iter()
                    .map(|group| group.map_or(Value::Undef, Value::from))
                    .collect(),
            ))
        }
        Ok(None) => Ok(Value::Undef),
        Err(error) => raise(error.to_string()),
    }
}

/// Returns the regular expression of a pattern, which may be a string, a regular expression or a
/// type.
fn source_of(pattern: &Value) -> Regexp {
    match pattern {
        Value::Str(source) => Regexp::new(&**source),
        Value::Regexp(regexp) => regexp.clone(),
        Value::Type(ty) => match ty.kind() {
            TypeKind::Regexp(Some(regexp)) => regexp.clone(),
            _ => Regexp::new(""),
        },
        _ => Regexp::new(""),
    }
}

fn substitute(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    if !call.get(4).is_undef() {
        let message = "The regsubst() function's encoding argument has been ignored since Ruby 1.9 and will be removed \
                       in a future release";
        evaluator.warn_once("regsubst_function_encoding", message, &call.location());
    }
    let letters = call.text(3);
    let flags = RegexFlags {
        extended: letters.contains('E'),
        ignore_case: letters.contains('I'),
        multiline: letters.contains('M'),
    };
    let all = letters.contains('G');
    let source = source_of(call.get(1));
    let shared = Rc::clone(&evaluator.shared);
    let regex = match shared.patterns.get(source.source(), flags) {
        Ok(regex) => regex,
        Err(error) => return raise(error.to_string()),
    };
    let replace = |text: &str| -> EvalResult {
        let replaced = match call.get(2) {
            Value::Hash(by_text) => regex.replace_with(text, all, |found, into| {
                let whole = found.get(0).unwrap_or_default();
                if let Some(Value::Str(new)) = by_text.get_str(whole) {
                    into.push_str(new);
                }
                Ok::<(), ruby_regex::SearchError>(())
            }),
            other => regex.replace(text, other.as_str().unwrap_or_default(), all),
        };
        match replaced {
            Ok(text) => {
                evaluator.charge_bytes(text.len())?;
                Ok(Value::from(text))
            }
            Err(error) => raise(error.to_string()),
        }
    };
    match call.get(0) {
        Value::Array(texts) => texts
            .iter()
            .map(|text| replace(text.as_str().unwrap_or_default()))
            .collect::<EvalResult<Vec<Value>>>()
            .map(Value::array),
        text => replace(text.as_str().unwrap_or_default()),
    }
}

fn split(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    pieces(evaluator, &call.text(0), call.get(1))
}

fn split_sensitive(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    match call.get(0) {
        Value::Sensitive(inner) => {
            let text = inner.as_str().unwrap_or_default();
            pieces(evaluator, text, call.get(1)).map(Value::sensitive)
        }
        other => Ok(other.clone()),
    }
}

fn pieces(evaluator: &mut Evaluator<'_>, text: &str, pattern: &Value) -> EvalResult {
    let source = source_of(pattern);
    // Ruby's `split` treats a single blank specially only as a string; here it is always a regular
    // expression.
    match evaluator.regex(source.source())?.split(text) {
        Ok(pieces) => {
            evaluator.charge_bytes(text.len())?;
            evaluator.charge(pieces.len())?;
            Ok(Value::array(pieces.into_iter().map(Value::from).collect()))
        }
        Err(error) => raise(error.to_string()),
    }
}
