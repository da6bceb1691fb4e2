//! Objects of plans that another orchestrator wrote as rich data: [`plan_value_from_rich_json`].
//!
//! Bolt and Puppet Enterprise send them with the variables of an `apply` block. Invariant: an object has the attributes
//! that were written, and none is looked up on this server.

use pcore::{Hash, RichDataError, Type, Value};
use serde_json::{Map, Value as Json};

use super::{PlanResource, PlanTarget, ResultSet, TaskResult};
use crate::types;

const TYPE: &str = "__ptype";
const VALUE: &str = "__pvalue";

/// Converts rich data, in which objects may be `Target`, `Result`, `ApplyResult`, `ResultSet` and `ResourceInstance`. The
/// depth of the data is bounded by the caller.
///
/// # Errors
/// A value is not in the form of its type, or of a type that plans do not have or that only a running plan has
/// (`Future`).
pub fn plan_value_from_rich_json(json: &Json) -> Result<Value, RichDataError> {
    let fields = match json {
        Json::Array(values) => {
            let values: Result<Vec<Value>, _> =
                values.iter().map(plan_value_from_rich_json).collect();
            return values.map(Value::array);
        }
        Json::Object(fields) => fields,
        plain => return Ok(Value::from_json(plain)),
    };
    match fields.get(TYPE).and_then(Json::as_str) {
        None => attributes(fields).map(Value::hash),
        Some("Sensitive") => inner(fields, "Sensitive").map(Value::sensitive),
        Some("Hash") => match inner(fields, "Hash")? {
            Value::Array(flat) if flat.len() % 2 == 0 => {
                let pairs = flat.chunks_exact(2);
                let pairs = pairs.map(|pair| (pair[0].clone(), pair[1].clone()));
                Ok(Value::hash(pairs.collect::<Hash>()))
            }
            _ => Err(malformed("Hash")),
        },
        Some(name @ ("Target" | "Result" | "ApplyResult" | "ResultSet" | "ResourceInstance")) => {
            object(name, &attributes(fields)?).ok_or_else(|| malformed(name))
        }
        Some("Future") => Err(RichDataError::UnknownType("Future".to_owned())),
        Some(_) => Value::from_rich_json(json, &|name| {
            Type::builtin(name).or_else(|| types::type_by_name(name))
        }),
    }
}

fn malformed(ty: &str) -> RichDataError {
    RichDataError::Malformed(ty.to_owned())
}

/// The value from which a value of a type is made.
fn inner(fields: &Map<String, Json>, ty: &str) -> Result<Value, RichDataError> {
    let inner = fields.get(VALUE).ok_or_else(|| malformed(ty))?;
    plan_value_from_rich_json(inner)
}

/// The attributes of an object, or the entries of a hash.
fn attributes(fields: &Map<String, Json>) -> Result<Hash, RichDataError> {
    let fields = fields.iter().filter(|(key, _)| *key != TYPE);
    let fields = fields.map(|(key, value)| Ok((key.as_str(), plan_value_from_rich_json(value)?)));
    fields.collect()
}

/// An object with these attributes; `None` if they are not those of its type.
fn object(name: &str, given: &Hash) -> Option<Value> {
    let target = || {
        let target = given.get_str("target")?;
        target.downcast_object::<PlanTarget>().cloned()
    };
    Some(match name {
        "Target" => Value::object(PlanTarget::with_attributes(given)?),
        "ResultSet" => {
            let results = given.get_str("results")?.as_array()?.iter();
            let results = results.map(|result| result.downcast_object::<TaskResult>().cloned());
            Value::object(ResultSet::new(results.collect::<Option<Vec<_>>>()?))
        }
        "ResourceInstance" => Value::object(PlanResource::from_hash(target()?, given)?),
        _ => Value::object(result(name == "ApplyResult", target()?, given)?),
    })
}

/// A result, which Bolt writes with its error and message beside its value.
fn result(is_apply: bool, target: PlanTarget, given: &Hash) -> Option<TaskResult> {
    let text = |name: &str| given.get_str(name).and_then(Value::as_str);
    let mut value = match given.get_str("value") {
        None | Some(Value::Undef) => Hash::new(),
        Some(value) => value.as_hash()?.clone(),
    };
    let entries = match is_apply {
        true => [("error", "_error"), ("report", "report")],
        false => [("error", "_error"), ("message", "_output")],
    };
    for (attribute, key) in entries {
        if let Some(entry) = given.get_str(attribute).filter(|entry| !entry.is_undef()) {
            value.insert(key, entry.clone());
        }
    }
    if !is_apply {
        let result = TaskResult::constructed(target, value);
        return Some(result.with_action(text("action"), text("object")));
    }
    if let Some(catalog) = given.get_str("catalog").filter(|it| !it.is_undef()) {
        let catalog: Hash = [("catalog", catalog.clone())].into_iter().collect();
        value.insert("_sensitive", Value::sensitive(Value::hash(catalog)));
    }
    Some(TaskResult::constructed_apply(target, value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(json: &Json) -> Value {
        plan_value_from_rich_json(json).unwrap()
    }

    fn attribute(value: &Value, name: &str) -> Value {
        value.as_object().unwrap().attribute(name).unwrap()
    }

    #[test]
    fn a_target_has_the_attributes_that_were_written() {
        let target = read(&json!({
            "__ptype": "Target", "uri": "ssh://ann:s3cret@web1:2222", "name": "web", "safe_name": "web",
            "config": {"transport": "ssh", "ssh": {"user": "bob"}}, "vars": {"port": 80}, "facts": {"os": "Linux"},
            "features": ["puppet-agent"], "target_alias": [],
        }));
        for (name, expected) in [
            ("name", "web"),
            ("uri", "ssh://ann:s3cret@web1:2222"),
            ("safe_name", "web"),
            ("host", "web1"),
            ("user", "ann"),
            ("protocol", "ssh"),
            ("facts", "{os => Linux}"),
            ("vars", "{port => 80}"),
            ("features", "[puppet-agent]"),
            ("resources", ""),
        ] {
            assert_eq!(attribute(&target, name).to_string(), expected, "{name}");
        }
        assert_eq!(target.to_string(), "web");

        let named = read(&json!({
            "__ptype": "Target", "name": "db", "config": {"transport": "winrm", "winrm": {"host": "db1", "port": 5986}},
        }));
        for (name, expected) in [
            ("uri", ""),
            ("safe_name", "db"),
            ("host", "db1"),
            ("port", "5986"),
            ("protocol", "winrm"),
            ("transport", "winrm"),
        ] {
            assert_eq!(attribute(&named, name).to_string(), expected, "{name}");
        }
        let unreached = read(&json!({"__ptype": "Target", "name": "db"}));
        assert_eq!(attribute(&unreached, "host"), Value::Undef);
    }

    #[test]
    fn objects_that_are_not_in_their_form_are_refused() {
        let target = json!({"__ptype": "Target", "uri": "a"});
        for bad in [
            json!({"__ptype": "Target"}),
            json!({"__ptype": "Target", "name": 1}),
            json!({"__ptype": "Target", "__pvalue": "a"}),
            json!({"__ptype": "Result", "value": {}}),
            json!({"__ptype": "Result", "target": "a", "value": {}}),
            json!({"__ptype": "Result", "target": target, "value": []}),
            json!({"__ptype": "ResultSet"}),
            json!({"__ptype": "ResultSet", "results": [target]}),
            json!({"__ptype": "ResourceInstance", "target": target, "type": "file"}),
            json!({"__ptype": "Hash", "__pvalue": ["key"]}),
            json!({"__ptype": "Sensitive"}),
        ] {
            let error = plan_value_from_rich_json(&bad).unwrap_err();
            assert!(
                matches!(error, RichDataError::Malformed(_)),
                "{bad}: {error}"
            );
        }
        for unknown in ["Future", "Nothing::Here"] {
            let error = plan_value_from_rich_json(&json!([{"__ptype": unknown}])).unwrap_err();
            assert!(matches!(error, RichDataError::UnknownType(_)), "{error}");
        }
    }

    #[test]
    fn results_have_their_values_errors_and_reports() {
        let target = json!({"__ptype": "Target", "uri": "a"});
        let error = json!({"kind": "k", "msg": "m", "details": {}});
        let set = read(&json!({"__ptype": "ResultSet", "results": [
            {"__ptype": "Result", "target": target, "error": null, "message": "hello", "action": "task", "object": "t",
             "value": {"_output": "hello", "n": 1, "_sensitive": {"__ptype": "Sensitive", "__pvalue": "s3cret"}}},
            {"__ptype": "Result", "target": target, "error": error, "message": null, "value": {"_error": error},
             "action": "command", "object": "ls"},
            {"__ptype": "ApplyResult", "target": target, "error": null, "report": {"status": "changed"},
             "catalog": {"name": "a"}},
        ]}));
        assert_eq!(attribute(&set, "ok"), Value::Bool(false));
        assert_eq!(attribute(&set, "count"), Value::Int(3));
        let results = attribute(&set, "results");
        let results = results.as_array().unwrap();
        assert_eq!(attribute(&results[0], "message").to_string(), "hello");
        assert_eq!(attribute(&results[0], "object").to_string(), "t");
        assert!(!results[0].to_string().contains("s3cret"));
        assert_eq!(
            attribute(&attribute(&results[1], "error"), "msg").to_string(),
            "m"
        );
        assert_eq!(attribute(&results[2], "action").to_string(), "apply");
        assert_eq!(
            attribute(&results[2], "report").to_string(),
            "{status => changed}"
        );
        assert_eq!(attribute(&results[2], "catalog").to_string(), "{name => a}");
    }
}
