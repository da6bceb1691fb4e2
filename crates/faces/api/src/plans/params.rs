//! The parameters of a plan run, checked before it starts: [`check`].
//!
//! Invariant: only parameters that every evaluation would refuse are refused. A type that cannot be
//! read here is left to the plan, and a value is never quoted, because it may be a secret.

use std::collections::BTreeMap;

use api_types::{ApiError, Object};
use environments::{CodeVersion, ParameterType, PlanMetadata, PlanName, PlanParameter};
use serde_json::{Value, json};

/// The types of a plan's parameters by name, without those that cannot be read.
pub(crate) type ParameterTypes = BTreeMap<String, ParameterType>;

/// Reads the types of the parameters. It reads files and blocks.
pub(crate) fn types(plan: &PlanMetadata, code: &dyn CodeVersion) -> ParameterTypes {
    let read = |parameter: &PlanParameter| {
        let read = ParameterType::parse(&parameter.kind, &|name| code.type_alias(name));
        Some((parameter.name.clone(), read.ok()?))
    };
    plan.parameters.iter().filter_map(read).collect()
}

/// Checks the given parameters; returns the names of those that are secret.
///
/// # Errors
/// A validation error with all mistakes.
pub(crate) fn check(
    name: &PlanName,
    plan: &PlanMetadata,
    types: &ParameterTypes,
    given: &Object,
) -> Result<Vec<String>, ApiError> {
    let mut problems = Vec::new();
    let mut sensitive = Vec::new();
    for (key, value) in given {
        match plan.parameters.iter().find(|known| known.name == *key) {
            None => problems.push(unknown_parameter_error(key, plan)),
            Some(parameter) => {
                if parameter.sensitive {
                    sensitive.push(key.clone());
                }
                problems.extend(wrong_type(parameter, types, value));
            }
        }
    }
    let absent =
        |known: &&PlanParameter| known.default.is_none() && !given.contains_key(&known.name);
    problems.extend(
        plan.parameters
            .iter()
            .filter(absent)
            .map(missing_parameter_error),
    );
    if problems.is_empty() {
        return Ok(sensitive);
    }
    let what = format!(
        "the plan `{name}` cannot be run with these: {}",
        problems.join("; ")
    );
    let listed: Value = problems.into_iter().map(Value::String).collect();
    Err(ApiError::invalid("params", what).with("params", json!(listed)))
}

fn unknown_parameter_error(key: &str, plan: &PlanMetadata) -> String {
    let known = plan.parameters.iter().map(|known| known.name.clone());
    let takes: Vec<_> = known.collect();
    let takes = match takes.is_empty() {
        true => "no parameters".to_owned(),
        false => takes.join(", "),
    };
    let key: String = key.chars().take(80).collect();
    format!("unknown parameter '{key}'; the plan takes {takes}")
}

/// The error for an absent parameter without a default: as in the Puppet language, it is required
/// whatever its type is.
fn missing_parameter_error(parameter: &PlanParameter) -> String {
    let PlanParameter { name, kind, .. } = parameter;
    format!("parameter '{name}' is missing; it expects a value of type {kind}")
}

fn wrong_type(parameter: &PlanParameter, types: &ParameterTypes, value: &Value) -> Option<String> {
    // The plan uses the default instead.
    if value.is_null() && parameter.default.is_some() {
        return None;
    }
    types
        .get(&parameter.name)?
        .check(&parameter.name, value)
        .err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, kind: &str, default: Option<Value>) -> PlanParameter {
        PlanParameter {
            name: name.to_owned(),
            kind: kind.to_owned(),
            default,
            description: None,
            sensitive: kind.starts_with("Sensitive"),
        }
    }

    fn readable(plan: &PlanMetadata) -> ParameterTypes {
        let read = |parameter: &PlanParameter| {
            let text = match parameter.kind.as_str() {
                "TargetSpec" => "Variant[String[1], Array]",
                other => other,
            };
            let read = ParameterType::parse(text, &|_| None);
            Some((parameter.name.clone(), read.ok()?))
        };
        plan.parameters.iter().filter_map(read).collect()
    }

    fn checked(given: Value) -> Result<Vec<String>, Vec<String>> {
        let plan = PlanMetadata {
            parameters: vec![
                parameter("nodes", "TargetSpec", None),
                parameter("note", "Optional[String]", None),
                parameter("count", "Integer[1]", Some(json!("3"))),
                parameter("special", "Mod::Alias", Some(json!("x"))),
                parameter("password", "Sensitive[String[8]]", Some(json!("''"))),
            ],
            ..PlanMetadata::default()
        };
        let Value::Object(given) = given else {
            panic!("an object");
        };
        check(
            &"app::deploy".parse().unwrap(),
            &plan,
            &readable(&plan),
            &given,
        )
        .map_err(|refused| {
            let listed = refused.body.details["params"].as_array().unwrap().iter();
            listed
                .map(|text| text.as_str().unwrap().to_owned())
                .collect()
        })
    }

    #[test]
    fn what_fits_is_taken_and_secrets_are_named() {
        let given = json!({"nodes": ["a", ["b"]], "note": null, "count": null, "special": [7],
            "password": "long enough"});
        assert_eq!(checked(given), Ok(vec!["password".to_owned()]));
    }

    #[test]
    fn all_mistakes_are_told_at_once_and_no_value() {
        let given = json!({"nodes": 3, "count": 0, "password": ["CANARY"], "colour": "CANARY"});
        let problems = checked(given).unwrap_err();
        assert_eq!(problems.len(), 5, "{problems:?}");
        let all = problems.join("\n");
        for part in [
            "parameter 'nodes' expects",
            "parameter 'count' expects",
            "parameter 'password' expects",
            "unknown parameter 'colour'; the plan takes nodes, note, count, special, password",
            "parameter 'note' is missing; it expects a value of type Optional[String]",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert!(!all.contains("CANARY"), "{all}");
    }

    #[test]
    fn a_plan_without_parameters_says_so() {
        let given = [("a".to_owned(), json!(1))].into_iter().collect();
        let refused = check(
            &"app".parse().unwrap(),
            &PlanMetadata::default(),
            &BTreeMap::new(),
            &given,
        );
        let msg = refused.unwrap_err().body.msg;
        assert!(msg.contains("the plan takes no parameters"), "{msg}");
    }
}
