//! `template`, `inline_template`: ERB templates.

use evaluator::function::CallArguments;
use evaluator::{EvalError, EvalResult, EvalUnwind, Evaluator, raise};
use pcore::Value;

use super::arity::check_arity;
use crate::compilation::Compilation;
use crate::ruby::ErbSource;

/// Renders template files; the texts follow each other.
pub(super) fn template(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    check_arity("template", call.len(), 1)?;
    let mut text = String::new();
    for name in evaluator::ruby::flatten(&call.arguments) {
        let name = name.to_string();
        let Some(file) = evaluator.find_module_file(&name, "templates")? else {
            return raise(format!("Could not find template '{name}'"));
        };
        let source = ErbSource::File(&file.path);
        let rendered = compilation.render_template(evaluator, call, source);
        let rendered = rendered.map_err(|unwind| in_template(*unwind, &name, &file.path))?;
        evaluator.charge_bytes(rendered.len())?;
        text.push_str(&rendered);
    }
    Ok(Value::from(text))
}

/// Puppet's message for an error in a template.
fn in_template(unwind: EvalUnwind, name: &str, path: &str) -> Box<EvalUnwind> {
    let EvalUnwind::Error(error) = unwind else {
        return Box::new(unwind);
    };
    let line = error.hints.iter().find_map(|hint| {
        let (_, place) = hint.split_once(" at ")?;
        let (_, line) = place.rsplit_once(':')?;
        line.parse::<u32>().ok()
    });
    let line = line.map_or_else(String::new, |line| format!("\n  Line: {line}"));
    let message = format!(
        "Failed to parse template {name}:\n  Filepath: {path}{line}\n  Detail: {}\n",
        error.message
    );
    EvalError {
        message,
        ..EvalError::without_location("")
    }
    .into()
}

/// Renders texts; the results follow each other.
pub(super) fn inline_template(
    compilation: &Compilation<'_>,
    evaluator: &mut Evaluator<'_>,
    call: &mut CallArguments<'_>,
) -> EvalResult {
    check_arity("inline_template", call.len(), 1)?;
    let mut text = String::new();
    for template in evaluator::ruby::flatten(&call.arguments) {
        let template = template.to_string();
        let rendered = compilation.render_template(evaluator, call, ErbSource::Text(&template))?;
        evaluator.charge_bytes(rendered.len())?;
        text.push_str(&rendered);
    }
    Ok(Value::from(text))
}
