//! The step `resources` of a YAML plan: resources that are applied in the order of the list. Main
//! function: [`run`].
//!
//! Invariant: titles and parameters are values of variables of the generated statements, never a part
//! of their text.

use environments::YamlStep;
use evaluator::{EvalResult, Evaluator, SourceLocation};
use pcore::{Hash, Value};
use psych::YamlTreeNode;

use crate::failure;
use crate::functions::{
    ApplyStatements, PlanActionOptions, apply_statements, finish_action, finish_apply,
    prepare_targets, targets_of,
};
use crate::host::PlanHost;
use crate::objects::type_name_of;

/// The variable with the resources, a name that no step can have.
const VARIABLE: &str = "_tutti_resources";

/// A resource of the step.
struct StepResource {
    type_name: String,
    title: Value,
    parameters: Value,
    line: u32,
}

/// Gathers the facts of the targets and applies the resources.
pub(super) fn run(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    step: &YamlStep,
    (object, targets, options): (&Value, &Value, &Hash),
    place: &SourceLocation,
) -> EvalResult {
    let resources = read_resources(object, &step.object)?;
    let options = PlanActionOptions::of_hash(host, Some(options))?;
    let targets = targets_of(host, place, targets)?;
    let prepared = prepare_targets(host, place, targets.clone(), &options)?;
    if prepared.failures() > 0 {
        return finish_action("apply_prep", "facts", prepared, &options);
    }
    let text = statements(&resources);
    let values = resources.into_iter().map(|resource| {
        let mut value = Hash::new();
        value.insert("title", resource.title);
        value.insert("parameters", resource.parameters);
        Value::hash(value)
    });
    let mut variables = Hash::new();
    variables.insert(VARIABLE, Value::array(values.collect()));
    let statements = ApplyStatements {
        manifest: evaluator.parse_statements(&text, place.file.as_deref())?,
        variables,
        text,
    };
    let set = apply_statements(host, place, targets, &options, statements)?;
    finish_apply(set, &options)
}

/// The resources with `->` between them, each in the line of the plan in which it stands.
fn statements(resources: &[StepResource]) -> String {
    let (mut text, mut line) = (String::new(), 1);
    for (index, resource) in resources.iter().enumerate() {
        while line < resource.line {
            text.push('\n');
            line += 1;
        }
        if index > 0 {
            text.push_str("-> ");
        }
        let name = resource.type_name.as_str();
        let own = format!("${VARIABLE}[{index}]");
        text.extend([name, " { ", &own, "['title']: * => ", &own]);
        text.push_str("['parameters'] } ");
    }
    text
}

fn read_resources(object: &Value, node: &YamlTreeNode) -> EvalResult<Vec<StepResource>> {
    let Some(given) = object.as_array() else {
        return Err(invalid("`resources` is a list of resources"));
    };
    let lines = node.as_sequence().into_iter().flatten().map(|it| it.line);
    let lines = lines.chain(std::iter::repeat(node.line));
    given
        .iter()
        .zip(lines)
        .map(|(given, line)| read_resource(given, line))
        .collect()
}

/// A resource is `{type, title, parameters}` or `{TYPE: title, parameters}`.
fn read_resource(given: &Value, line: u32) -> EvalResult<StepResource> {
    let Some(given) = given.as_hash() else {
        return Err(invalid("a resource is a mapping with a type and a title"));
    };
    let mut others = given.iter().filter(|(key, _)| {
        let known = ["type", "title", "parameters"];
        !key.as_str().is_some_and(|key| known.contains(&key))
    });
    let (type_value, title) = match (given.get_str("type"), given.get_str("title")) {
        (Some(ty), Some(title)) => (ty.clone(), title.clone()),
        (None, None) => match (others.next(), others.next()) {
            (Some((ty, title)), None) => (ty.clone(), title.clone()),
            _ => return Err(invalid("a resource has one type")),
        },
        _ => return Err(invalid("a resource has a type and a title")),
    };
    if let Some((key, _)) = others.next() {
        let what = format!("a resource has no key `{key}`: put it among its parameters");
        return Err(invalid(&what));
    }
    let parameters = match given.get_str("parameters") {
        None | Some(Value::Undef) => Value::hash(Hash::new()),
        Some(parameters @ Value::Hash(_)) => parameters.clone(),
        Some(_) => return Err(invalid("the parameters of a resource are a mapping")),
    };
    let Some(name) = type_name_of(&type_value) else {
        return Err(invalid(&format!("{type_value} is not a resource type")));
    };
    Ok(StepResource {
        type_name: name.to_lowercase(),
        title,
        parameters,
        line,
    })
}

fn invalid(what: &str) -> Box<evaluator::EvalUnwind> {
    failure::plain_error("bolt/invalid-plan", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(entries: &[(&str, Value)]) -> Value {
        Value::hash(
            entries
                .iter()
                .map(|(key, value)| (*key, value.clone()))
                .collect(),
        )
    }

    #[test]
    fn a_resource_is_in_the_line_where_the_plan_has_it() {
        let file = |title: &str, line| StepResource {
            type_name: "file".to_owned(),
            title: Value::from(title),
            parameters: Value::hash(Hash::new()),
            line,
        };
        let text = statements(&[file("a", 3), file("b", 4)]);
        let lines: Vec<&str> = text.split('\n').collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(
            lines[2].starts_with("file { $_tutti_resources[0]"),
            "{text}"
        );
        assert!(
            lines[3].starts_with("-> file { $_tutti_resources[1]"),
            "{text}"
        );
        assert!(!text.contains('a') || !text.contains("'a'"));
    }

    #[test]
    fn both_forms_of_a_resource_are_read_and_others_refused() {
        let title = Value::from("nginx");
        let long = hash(&[("type", Value::from("Package")), ("title", title.clone())]);
        let short = hash(&[("package", title.clone()), ("parameters", hash(&[]))]);
        for good in [&long, &short] {
            let read = read_resource(good, 1).unwrap();
            assert_eq!((read.type_name.as_str(), &read.title), ("package", &title));
        }
        for bad in [
            Value::from("package"),
            hash(&[]),
            hash(&[("type", Value::from("package"))]),
            hash(&[("package", title.clone()), ("file", title.clone())]),
            hash(&[("package", title.clone()), ("parameters", title.clone())]),
            hash(&[("a b", title.clone())]),
            hash(&[
                ("type", Value::from("file")),
                ("title", title.clone()),
                ("ensure", title.clone()),
            ]),
        ] {
            assert!(read_resource(&bad, 1).is_err(), "{bad}");
        }
    }
}
