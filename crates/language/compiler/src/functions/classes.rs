//! `include`, `contain`, `require`, `hiera_include`.

use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{EvalResult, Evaluator, raise};
use pcore::{Type, TypeKind, Value};

use crate::compilation::Compilation;
use crate::names::{definition_name, reference_name};

pub(super) fn include(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    let names = class_names(&call.arguments)?;
    compilation.include_classes(evaluator, call.catalog_scope(), &names)?;
    Ok(references(&names))
}

pub(super) fn contain(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    let names = class_names(&call.arguments)?;
    let scope = call.catalog_scope();
    let classes = compilation.include_classes(evaluator, scope, &names)?;
    let mut state = compilation.state();
    let container = state.scope(scope).resource;
    for class in classes {
        if !state.catalog.has_edge(container, class) && !state.catalog.add_edge(container, class) {
            return raise("the catalog has too many containment edges");
        }
    }
    Ok(references(&names))
}

pub(super) fn require(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    let names = class_names(&call.arguments)?;
    let scope = call.catalog_scope();
    compilation.include_classes(evaluator, scope, &names)?;
    for name in &names {
        let reference = format!("Class[{}]", reference_name(name));
        let container = compilation.state().scope(scope).resource;
        compilation.append_reference(container, "require", Value::from(reference))?;
    }
    Ok(references(&names))
}

/// Includes the classes that data name; none in the graph of an environment, which has no node.
pub(super) fn hiera_include(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    if compilation.is_graph {
        return Ok(Value::Undef);
    }
    let key = call.get(0).to_string();
    let arguments = std::mem::take(&mut call.arguments);
    let classes = evaluator.call_function_in(&call.scope(), "hiera_array", arguments)?;
    match &classes {
        Value::Undef => raise(format!("Could not find data item {key}")),
        Value::Array(names) if names.is_empty() => Ok(Value::Undef),
        _ => {
            call.arguments = vec![classes];
            include(compilation, evaluator, call)?;
            Ok(Value::Undef)
        }
    }
}

/// The names of classes in arguments, in lower case with a leading `::`, as messages show them.
fn class_names(arguments: &[Value]) -> EvalResult<Vec<Arc<str>>> {
    let mut names = Vec::new();
    collect_names(arguments, &mut names)?;
    Ok(names)
}

fn collect_names(values: &[Value], names: &mut Vec<Arc<str>>) -> EvalResult<()> {
    for value in values {
        let name: &str = match value {
            Value::Array(values) => {
                collect_names(values, names)?;
                continue;
            }
            Value::Undef => return raise("Cannot use undef as a class name"),
            Value::Str(text) if text.is_empty() => {
                return raise("Cannot use empty string as a class name");
            }
            Value::Str(text) => text,
            Value::Type(ty) => class_of_type(ty)?,
            // Puppet's message for all other values
            _ => {
                return raise("undefined method `downcase' for nil:NilClass");
            }
        };
        let lower = name.to_lowercase();
        names.push(match lower.starts_with("::") {
            true => lower.into(),
            false => format!("::{lower}").into(),
        });
    }
    Ok(())
}

fn class_of_type(ty: &Type) -> EvalResult<&str> {
    match ty.kind() {
        TypeKind::Class(Some(name)) => Ok(name),
        TypeKind::Class(None) => raise("Cannot use an unspecific Class[] Type"),
        TypeKind::Resource {
            type_name: None, ..
        } => {
            raise("Cannot use an unspecific Resource[] where a Resource['class', name] is expected")
        }
        TypeKind::Resource {
            type_name: Some(type_name),
            title,
        } => {
            if !type_name.eq_ignore_ascii_case("class") {
                return raise(format!(
                    "Cannot use a Resource[{type_name}] where a Resource['class', name] is expected"
                ));
            }
            match title {
                Some(title) => Ok(title),
                None => raise(
                    "Cannot use an unspecific Resource['class'] where a Resource['class', name] is expected",
                ),
            }
        }
        _ => raise(format!("Cannot use {ty} as a class name")),
    }
}

fn references(names: &[Arc<str>]) -> Value {
    let types = names
        .iter()
        .map(|name| Type::class_of(definition_name(name)));
    Value::array(types.map(Value::Type).collect())
}
