//! `epp`, `inline_epp`.
//!
//! A template in a file sees its parameters and the top scope, an inline one also the scope around
//! it. Invariant: a template that declares parameters takes no others.

use std::rc::Rc;
use std::sync::Arc;

use pcore::{Hash, Value};

use crate::Evaluator;
use crate::code::LoweredUnit;
use crate::error::{EvalError, EvalResult, EvalUnwind, raise};
use crate::evaluator::NamedCall;
use crate::frame::VariableFrame;
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use crate::parse;
use crate::source_language::FileScope;

const PARAMETERS: &str = "Hash[Pattern[/^\\w+$/], Any]";
const TEXT: &str = "Variant[String, Sensitive[String]]";

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "epp",
        &[FunctionDispatch::new(
            &[one("String", "path"), optional(PARAMETERS, "parameters")],
            epp,
        )
        .returning(TEXT)],
    ),
    FunctionSpec::new(
        "inline_epp",
        &[FunctionDispatch::new(
            &[
                one("String", "template"),
                optional(PARAMETERS, "parameters"),
            ],
            inline_epp,
        )
        .returning(TEXT)],
    ),
];

fn epp(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let name = call.text(0);
    let mut file = evaluator.module_file(&name, "templates")?;
    if file.is_none() && !name.ends_with(".epp") {
        file = evaluator.module_file(&format!("{name}.epp"), "templates")?;
    }
    let Some(file) = file else {
        let shown = if name.ends_with(".epp") {
            name.to_string()
        } else {
            format!("{name}.epp")
        };
        return raise(format!("Could not find template '{shown}'"));
    };
    let shared = Rc::clone(&evaluator.shared);
    let unit = shared.loader.parsed().parse_file(
        &file,
        shared.loader.language().of_templates(),
        None,
        evaluator.stack,
    );
    let unit = unit.map_err(|unwind| template_error(*unwind, "epp"))?;
    let module = name.split('/').next();
    shared.loader.set_file_owner(&file.path, module);
    let around = call.cx.frame.and_then(VariableFrame::node_block);
    render_template(evaluator, &call, &unit, around)
}

fn inline_epp(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let unit = parse::text_unit(
        &call.text(0),
        Some("inlined-epp-text"),
        evaluator.shared.loader.language().of_templates(),
        FileScope::Local,
        evaluator.stack,
    );
    let unit = unit.map_err(|unwind| template_error(*unwind, "inline_epp"))?;
    render_template(evaluator, &call, &unit, call.cx.frame)
}

/// The error of a template that cannot be parsed.
#[cold]
fn template_error(unwind: EvalUnwind, function: &str) -> Box<EvalUnwind> {
    match unwind {
        EvalUnwind::Error(error) => {
            let mut outer =
                EvalError::without_location(format!("{function}(): Invalid EPP: {error}"));
            outer.hints = error.hints;
            outer.into()
        }
        other => Box::new(other),
    }
}

fn render_template(
    evaluator: &mut Evaluator<'_>,
    call: &CallArguments<'_>,
    unit: &Arc<LoweredUnit>,
    outer: Option<&Rc<VariableFrame>>,
) -> EvalResult {
    if !unit.definitions.is_empty() {
        return raise(format!(
            "{}(): The EPP template contains illegal expressions (definitions)",
            call.name
        ));
    }
    let given = match call.get(1) {
        Value::Hash(entries) => Hash::clone(entries),
        _ => Hash::new(),
    };
    let code = unit.code(unit.main);
    let is_open = !code.declares_parameters && call.len() > 1;
    let result = if is_open {
        // A template without declared parameters gets every argument as a variable.
        let around = VariableFrame::new_growable_inside(outer);
        for (name, value) in given.iter() {
            around.define(name.as_str().unwrap_or_default(), value.clone());
        }
        evaluator.call_by_name(unit, unit.main, Some(&around), &given, NamedCall::Unchecked)
    } else {
        evaluator.call_by_name(unit, unit.main, outer, &given, NamedCall::Template)
    };
    match result {
        Err(unwind) => match *unwind {
            EvalUnwind::Return(jump) => Ok(jump.value),
            other => Err(Box::new(other)),
        },
        text => text,
    }
}
