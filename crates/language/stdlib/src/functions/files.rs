//! Files of modules: `loadyaml`, `loadjson`, `get_module_path`, `load_module_metadata`.
//!
//! Invariant: files come only from the environment's code, so that they are the same when a program
//! is evaluated again. A path outside of every module counts as a missing file.

use std::sync::Arc;

use evaluator::function::FunctionSpec;
use evaluator::{CodeOwner, EvalResult, Evaluator, raise, ruby};
use pcore::{Hash, Value};
use psych::YamlLoadOptions;

use super::parse::{or_default, parse_json, parse_yaml};
use crate::old_api::{OldCall, class_name, old_functions};

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "get_module_path" => get_module_path;
    "load_module_metadata" => load_module_metadata;
    "loadjson" => loadjson, >= 1;
    "loadyaml" => loadyaml, >= 1;
};

fn get_module_path(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 1 {
        return raise("get_module_path(): Wrong number of arguments, expects one");
    }
    module_path(evaluator, old.get(0)).map(Value::Str)
}

fn module_path(evaluator: &Evaluator<'_>, name: &Value) -> EvalResult<Arc<str>> {
    let name = ruby::to_s(name);
    match evaluator.host().code().module(&name) {
        Some(module) => Ok(module.path),
        None => raise(format!("Could not find module {name} in the environment")),
    }
}

fn load_module_metadata(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if !matches!(old.len(), 1 | 2) {
        return raise("load_module_metadata(): Wrong number of arguments, expects one or two");
    }
    module_path(evaluator, old.get(0))?;
    let name = ruby::to_s(old.get(0));
    match read(evaluator, &name, "metadata.json")? {
        Some(text) => parse_json(&text).or_else(raise),
        None if old.get(1).is_truthy() => Ok(Value::hash(Hash::new())),
        None => raise(format!(
            "load_module_metadata(): No metadata.json file for module {name}"
        )),
    }
}

/// A file of a module, as text.
pub(super) fn read(
    evaluator: &Evaluator<'_>,
    module: &str,
    path: &str,
) -> EvalResult<Option<String>> {
    let file = match evaluator
        .host()
        .code()
        .read(CodeOwner::Module(module), path)
    {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(None),
        Err(error) => return raise(error.to_string()),
    };
    evaluator.charge_bytes(file.bytes.len())?;
    match std::str::from_utf8(&file.bytes) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => raise(format!("{} is not UTF-8", file.path)),
    }
}

/// A file by the path that `find_file` and `module_directory` return.
fn read_module_file(evaluator: &Evaluator<'_>, path: &str) -> EvalResult<Option<String>> {
    let code = evaluator.host().code();
    for name in code.modules() {
        let Some(module) = code.module(&name) else {
            continue;
        };
        let inside = path
            .strip_prefix(module.path.trim_end_matches('/'))
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some(inside) = inside
            && inside
                .split('/')
                .all(|part| !matches!(part, "" | "." | ".."))
        {
            return read(evaluator, &name, inside);
        }
    }
    Ok(None)
}

fn load_structured(
    evaluator: &Evaluator<'_>,
    old: &OldCall,
    name: &str,
    parse: impl FnOnce(&str) -> Result<Value, String>,
) -> EvalResult {
    let default = old.get(1);
    let path = match old.get(0) {
        Value::Str(path) => path,
        _ if default.is_truthy() => return Ok(default.clone()),
        other => {
            return raise(format!(
                "undefined method `start_with?' for {}",
                class_name(other)
            ));
        }
    };
    if path.starts_with("http://") || path.starts_with("https://") {
        return raise(format!(
            "{name}(): nothing is loaded from the network, since a program that is evaluated again must see the same: fetch {path} in a task"
        ));
    }
    match read_module_file(evaluator, path)? {
        Some(text) => or_default(parse(&text), default),
        None => {
            old.warn(
                evaluator,
                &format!("Can't load '{path}' File does not exist!"),
            );
            Ok(default.clone())
        }
    }
}

fn loadyaml(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    let options = YamlLoadOptions {
        symbols: true,
        ..YamlLoadOptions::PLAN
    };
    load_structured(evaluator, old, "loadyaml", |text| parse_yaml(text, options))
}

fn loadjson(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    load_structured(evaluator, old, "loadjson", parse_json)
}
