//! `parsejson`, `parseyaml`, `parsehocon`, `parsepson`: texts as data, or a default.

use evaluator::function::{CallArguments, Dispatch, FunctionSpec, one, optional};
use evaluator::{Eval, Evaluator, raise};
use pcore::{Binary, Hash, Value};
use psych::Options;

use crate::old::{Old, class, old_functions};

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "parsejson" => parsejson;
    "parseyaml" => parseyaml;
};

macro_rules! hocon {
    () => {
        &[Dispatch::new(
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
        &[Dispatch::new(
            &[one("String[1]", "pson_string"), optional("Any", "default")],
            parsepson,
        )],
    ),
];

pub(super) fn json(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(json) => Ok(Value::from_json(&json)),
        Err(error) => Err(format!("unexpected JSON: {error}")),
    }
}

/// The value of the first document; `undef` if there is none.
pub(super) fn yaml(text: &str, options: Options) -> Result<Value, String> {
    let document = psych::load(text, options).map_err(|error| error.to_string())?;
    Ok(document
        .root
        .map_or(Value::Undef, |root| of_yaml(&root.value)))
}

fn of_yaml(value: &psych::Value) -> Value {
    match value {
        psych::Value::Null => Value::Undef,
        psych::Value::Bool(flag) => Value::Bool(*flag),
        psych::Value::Integer(number) => Value::Int(*number),
        psych::Value::Float(number) => Value::Float(*number),
        psych::Value::BigInteger(text) | psych::Value::String(text) => Value::Str(text.clone()),
        psych::Value::Symbol(name) if name.as_ref() == "default" => Value::Default,
        psych::Value::Symbol(name) => Value::Str(name.clone()),
        psych::Value::Binary(bytes) => Value::Binary(Binary::new(bytes.clone())),
        psych::Value::Date(_) | psych::Value::Time(_) => {
            let text = psych::emit(value, psych::Layout::default()).unwrap_or_default();
            Value::from(text.trim_start_matches("--- ").trim_end())
        }
        psych::Value::Sequence(items) => {
            Value::array(items.iter().map(|it| of_yaml(&it.value)).collect())
        }
        psych::Value::Mapping(entries) => Value::hash(
            entries
                .iter()
                .map(|(key, it)| (of_yaml(&key.value), of_yaml(&it.value)))
                .collect::<Hash>(),
        ),
    }
}

/// The value that was read; the default if it is undef or reading failed.
pub(super) fn or_default(read: Result<Value, String>, default: &Value) -> Eval {
    match read {
        Ok(value) if value.is_truthy() => Ok(value),
        Ok(_) => Ok(default.clone()),
        Err(_) if default.is_truthy() => Ok(default.clone()),
        Err(error) => raise(error),
    }
}

fn parsed(
    evaluator: &Evaluator<'_>,
    old: &Old,
    parse: impl FnOnce(&str) -> Result<Value, String>,
) -> Eval {
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
            class(other)
        )),
    };
    or_default(read, old.get(1))
}

fn parsejson(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    parsed(evaluator, old, json)
}

fn parseyaml(evaluator: &mut Evaluator<'_>, old: &Old) -> Eval {
    let options = Options {
        symbols: true,
        ..Options::PLAN
    };
    parsed(evaluator, old, |text| yaml(text, options))
}

fn parsehocon(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let text = call.text(0);
    evaluator.charge_bytes(text.len())?;
    match hocon::parse(&text) {
        Ok(json) => Ok(Value::from_json(&json)),
        Err(_) if call.len() > 1 => Ok(call.get(1).clone()),
        Err(error) => raise(format!("parsehocon(): {error}")),
    }
}

fn parsepson(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let text = call.text(0);
    evaluator.charge_bytes(text.len())?;
    // only lists and objects are PSON
    let read = match json(&text) {
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
