//! `parsejson`, `parseyaml`, `parsehocon`, `parsepson`: texts as data, or a default.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator, raise};
use pcore::{Binary, Hash, Value};
use psych::YamlLoadOptions;

use crate::old_api::{OldCall, class_name, old_functions};

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "parsejson" => parsejson;
    "parseyaml" => parseyaml;
};

macro_rules! hocon {
    () => {
        &[FunctionDispatch::new(
            &[one("String", "hocon_string"), optional("Any", "default")],
            parsehocon,
        )]
    };
}

pub(super) static NEW: &[FunctionSpec] = &[
    FunctionSpec::new("parsehocon", hocon!()),
    FunctionSpec::new("stdlib::parsehocon", hocon!()),
    FunctionSpec::new(
        "parsepson",
        &[FunctionDispatch::new(
            &[one("String[1]", "pson_string"), optional("Any", "default")],
            parsepson,
        )],
    ),
];

pub(super) fn parse_json(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(json) => Ok(Value::from_json(&json)),
        Err(error) => Err(format!("unexpected JSON: {error}")),
    }
}

/// The value of the first document; `undef` if there is none.
pub(super) fn parse_yaml(text: &str, options: YamlLoadOptions) -> Result<Value, String> {
    let document = psych::load(text, options).map_err(|error| error.to_string())?;
    Ok(document
        .root
        .map_or(Value::Undef, |root| from_yaml(&root.value)))
}

fn from_yaml(value: &psych::YamlValue) -> Value {
    match value {
        psych::YamlValue::Null => Value::Undef,
        psych::YamlValue::Bool(flag) => Value::Bool(*flag),
        psych::YamlValue::Integer(number) => Value::Int(*number),
        psych::YamlValue::Float(number) => Value::Float(*number),
        psych::YamlValue::BigInteger(text) | psych::YamlValue::String(text) => {
            Value::Str(text.clone())
        }
        psych::YamlValue::Symbol(name) if name.as_ref() == "default" => Value::Default,
        psych::YamlValue::Symbol(name) => Value::Str(name.clone()),
        psych::YamlValue::Binary(bytes) => Value::Binary(Binary::new(bytes.clone())),
        psych::YamlValue::Date(_) | psych::YamlValue::Time(_) => {
            let text = psych::emit(value, psych::EmitLayout::default()).unwrap_or_default();
            Value::from(text.trim_start_matches("--- ").trim_end())
        }
        psych::YamlValue::Sequence(items) => {
            Value::array(items.iter().map(|it| from_yaml(&it.value)).collect())
        }
        psych::YamlValue::Mapping(entries) => Value::hash(
            entries
                .iter()
                .map(|(key, it)| (from_yaml(&key.value), from_yaml(&it.value)))
                .collect::<Hash>(),
        ),
    }
}

/// The value that was read; the default if it is undef or reading failed.
pub(super) fn or_default(read: Result<Value, String>, default: &Value) -> EvalResult {
    match read {
        Ok(value) if value.is_truthy() => Ok(value),
        Ok(_) => Ok(default.clone()),
        Err(_) if default.is_truthy() => Ok(default.clone()),
        Err(error) => raise(error),
    }
}

fn parse_with_default(
    evaluator: &Evaluator<'_>,
    old: &OldCall,
    parse: impl FnOnce(&str) -> Result<Value, String>,
) -> EvalResult {
    if old.arguments.is_empty() {
        return raise("Wrong number of arguments. 1 or 2 arguments should be provided.");
    }
    let read = match old.get(0) {
        Value::Str(text) => {
            evaluator.charge_bytes(text.len())?;
            parse(text)
        }
        other => Err(format!(
            "no implicit conversion of {} into String",
            class_name(other)
        )),
    };
    or_default(read, old.get(1))
}

fn parsejson(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    parse_with_default(evaluator, old, parse_json)
}

fn parseyaml(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    let options = YamlLoadOptions {
        symbols: true,
        ..YamlLoadOptions::PLAN
    };
    parse_with_default(evaluator, old, |text| parse_yaml(text, options))
}

fn parsehocon(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = call.text(0);
    evaluator.charge_bytes(text.len())?;
    match hocon::parse(&text) {
        Ok(json) => Ok(Value::from_json(&json)),
        Err(_) if call.len() > 1 => Ok(call.get(1).clone()),
        Err(error) => raise(format!("parsehocon(): {error}")),
    }
}

fn parsepson(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let text = call.text(0);
    evaluator.charge_bytes(text.len())?;
    // only lists and objects are PSON
    let read = match parse_json(&text) {
        _ if !text.trim_start().starts_with(['[', '{']) => {
            Err(format!("source '{text}' not in PSON!"))
        }
        read => read,
    };
    match read {
        Ok(value) => Ok(value),
        Err(_) if call.len() > 1 => Ok(call.get(1).clone()),
        Err(error) => raise(error),
    }
}
