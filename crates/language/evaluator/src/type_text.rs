//! Parsing of type expressions in strings: the dispatches of functions, `assert_type('Integer',
//! ..)`.

use std::sync::Arc;

use pcore::{NamedTypeAlias, Type};

use crate::Evaluator;
use crate::code::LoweredUnit;
use crate::error::{EvalError, EvalResult};
use crate::eval_context::EvalContext;
use crate::parse;
use crate::source_language::{FileScope, SourceLanguage};

/// Parses a type expression. `local_types` are aliases visible only in this text; they may be
/// recursive.
pub(crate) fn parse(
    evaluator: &mut Evaluator<'_>,
    text: &str,
    local_types: &[(&str, &str)],
) -> EvalResult<Type> {
    let known = evaluator.local_types.len();
    let result = with_local_types(evaluator, text, local_types);
    evaluator.local_types.truncate(known);
    result
}

fn with_local_types(
    evaluator: &mut Evaluator<'_>,
    text: &str,
    local_types: &[(&str, &str)],
) -> EvalResult<Type> {
    for (name, body) in local_types {
        let alias = NamedTypeAlias::declare(*name);
        evaluator
            .local_types
            .push(((*name).into(), Type::from(Arc::clone(&alias))));
        let body = evaluate(evaluator, body)?;
        alias
            .resolve(&body)
            .map_err(|error| EvalError::without_location(error.to_string()))?;
    }
    evaluate(evaluator, text)
}

fn evaluate(evaluator: &mut Evaluator<'_>, text: &str) -> EvalResult<Type> {
    let unit: Arc<LoweredUnit> = parse::text_unit(
        text,
        None,
        SourceLanguage::Plan,
        FileScope::Local,
        evaluator.stack,
    )?;
    let cx = EvalContext {
        unit: &unit,
        frame: None,
    };
    evaluator.type_of_node(cx, unit.code(unit.main).body)
}
