//! `apply`, and the steps `resources` of YAML plans: a catalog for each target, compiled from
//! statements of the plan and applied by a task. Main type: [`ApplyStatements`].
//!
//! Invariant: the compilation belongs to the step. A plan that is evaluated again compiles nothing
//! whose outcome the journal has.

use std::sync::Arc;

use compiler::ApplyProgram;
use evaluator::{ApplyBlock, EvalResult, Evaluator, Manifest, SourceLocation};
use jobs::{TaskPlugins, TaskPurpose};
use pcore::{Hash, Type, Value};
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};

use super::action::PlanAction;
use super::action_options::PlanActionOptions;
use super::apply_catalogs::ApplyCatalogs;
use super::apply_report::with_report;
use super::targets;
use crate::error_object::error_attribute;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::{PlanTarget, ResultSet, TaskResult};
use crate::types;

/// The task that applies a catalog on a node.
const TASK: &str = "apply_helpers::apply_catalog";

/// Variables that a compilation sets itself.
const RESERVED: [&str; 3] = ["facts", "server_facts", "trusted"];

/// Statements to compile, with the variables that they see.
pub(crate) struct ApplyStatements {
    pub(crate) manifest: Manifest,
    pub(crate) variables: Hash,
    /// Source text, which identifies the step in the journal.
    pub(crate) text: String,
}

/// Runs an `apply` expression.
pub(crate) fn apply(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    block: &ApplyBlock<'_>,
) -> EvalResult {
    let options = check_arguments(&block.arguments)?;
    let options = PlanActionOptions::of_hash(host, options)?;
    let targets = targets::of(host, &block.location, &block.arguments[0])?;
    let span = block.ast.span(block.expression);
    let statements = ApplyStatements {
        manifest: evaluator.apply_block_manifest(block)?,
        variables: visible_variables(evaluator, block),
        text: block.ast.source().slice(span).to_owned(),
    };
    let set = apply_statements(host, &block.location, targets, &options, statements)?;
    finish_apply(set, &options)
}

/// The variables around the block, except those that a compilation sets.
fn visible_variables(evaluator: &Evaluator<'_>, block: &ApplyBlock<'_>) -> Hash {
    let mut visible = Hash::new();
    for (name, value) in evaluator.variables_in(&block.scope) {
        if !RESERVED.contains(&&*name) {
            visible.insert(&*name, value);
        }
    }
    visible
}

/// Returns the hash of options of an `apply` expression.
fn check_arguments(arguments: &[Value]) -> EvalResult<Option<&Hash>> {
    let (spec, options) = match arguments {
        [] => {
            let msg = "apply requires a TargetSpec";
            return Err(failure::invalid_value_error(msg));
        }
        [spec] => (spec, None),
        [spec, options, ..] => (spec, Some(options)),
    };
    let expect = |what: &str, ty: &Type, value: &Value| -> EvalResult<()> {
        if ty.is_instance(value) || value.has_unknown() {
            return Ok(());
        }
        let given = Type::infer_detailed(value);
        evaluator::raise(pcore::describe_mismatch(what, ty, &given))
    };
    if let Some(ty) = types::type_by_name("TargetSpec") {
        expect("apply targets", &ty, spec)?;
    }
    if let Some(options) = options {
        let ty = Type::hash_of(Type::string(), Type::any());
        expect("apply options", &ty, options)?;
    }
    Ok(options.and_then(Value::as_hash))
}

/// Compiles the statements for each target and applies the catalogs.
pub(crate) fn apply_statements(
    host: &PlanHost<'_>,
    place: &SourceLocation,
    targets: Vec<PlanTarget>,
    options: &PlanActionOptions,
    statements: ApplyStatements,
) -> EvalResult<ResultSet> {
    let hash = Sha256::digest(statements.text.as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(preview) = &host.preview {
        preview.add_given(&Value::hash(statements.variables.clone()));
    }
    let program = ApplyProgram {
        statements: statements.manifest,
        variables: statements.variables,
    };
    let source = ApplyCatalogs::new(host, &targets, program);
    let action = PlanAction {
        name: "apply",
        function: "apply",
        object: "catalog",
        native: None,
        task: TASK,
        purpose: TaskPurpose::Apply,
        plugins: TaskPlugins::Types,
        params: Map::new(),
        node_params: Some(Arc::new(source)),
        sensitive: Vec::new(),
        shown: json!({"sha256": hash}),
        convert: &with_report,
    };
    let set = action.results(host, place, targets, options)?;
    let results = set.results().iter();
    Ok(ResultSet::new(results.map(|result| {
        TaskResult::clone(result).into_apply_result()
    })))
}

/// Returns the set, or `bolt/apply-failure` with the messages of all targets that failed.
pub(crate) fn finish_apply(set: ResultSet, options: &PlanActionOptions) -> EvalResult {
    if set.failures() == 0 || options.catch_errors || set.has_unknown_targets() {
        return super::action::finish_action("apply", "catalog", set, options);
    }
    let errors = set.results().iter().filter_map(|result| result.error());
    let messages: Vec<String> = errors
        .map(|error| error_attribute(error, "msg").to_string())
        .collect();
    let mut details = Hash::new();
    details.insert("action", "apply");
    details.insert("object", "catalog");
    details.insert("result_set", Value::object(set));
    let msg = messages.join("\n");
    Err(failure::bolt_error("bolt/apply-failure", &msg, details))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_targets_and_options() {
        let none = check_arguments(&[]).unwrap_err();
        let msg = format!("{none:?}");
        assert!(msg.contains("apply requires a TargetSpec"), "{msg}");
        assert!(check_arguments(&[Value::from("a")]).unwrap().is_none());
        let options = Value::hash([("_noop", Value::Bool(true))].into_iter().collect());
        let arguments = [Value::from("a"), options];
        assert_eq!(check_arguments(&arguments).unwrap().unwrap().len(), 1);
        assert!(check_arguments(&[Value::Int(1)]).is_err());
        assert!(check_arguments(&[Value::from("a"), Value::Int(1)]).is_err());
    }
}
