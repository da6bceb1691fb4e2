//! Plans in YAML. Main type: [`YamlProgram`]; [`find`] reads one, `run` runs it.
//!
//! Invariant: a plan that `environments` cannot read is never started. Of duplicate keys the last
//! one counts, as in Bolt, with a warning in the plan's log.

mod resources;
mod run;
mod text;

use environments::{PlanProblem, YamlParameter, YamlPlan, YamlStep};
use evaluator::{
    CodeOwner, EvalResult, EvalUnwind, EvaluationHost as _, Evaluator, LogLevel, SourceFile,
    SourceLocation,
};
use pcore::{Type, Value};
use psych::YamlTreeNode;

pub(crate) use self::run::run;
use crate::failure;
use crate::host::PlanHost;

/// A YAML plan that can be run.
pub(crate) struct YamlProgram {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) parameters: Vec<YamlPlanParameter>,
    steps: Vec<YamlStep>,
    result: Option<YamlTreeNode>,
}

/// A parameter of a YAML plan.
pub(crate) struct YamlPlanParameter {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) default: Option<YamlTreeNode>,
}

/// Reads the YAML plan of a name; `None` if there is no such file.
pub(crate) fn find(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    name: &str,
) -> EvalResult<Option<YamlProgram>> {
    let (module, rest) = name.split_once("::").unwrap_or((name, "init"));
    let path = format!("plans/{}.yaml", rest.replace("::", "/"));
    let file = host.code().read(CodeOwner::Module(module), &path);
    match file {
        Ok(Some(file)) => read(host, evaluator, (name, &file)).map(Some),
        Ok(None) => Ok(None),
        Err(error) => Err(failure::plain_error("bolt/invalid-plan", error.to_string())),
    }
}

fn read(
    host: &PlanHost<'_>,
    evaluator: &mut Evaluator<'_>,
    (name, file): (&str, &SourceFile),
) -> EvalResult<YamlProgram> {
    let text = std::str::from_utf8(&file.bytes);
    let text = text.map_err(|error| {
        let at = error.valid_up_to();
        refuse(file, &format!("it is not UTF-8 (at byte {at})"))
    })?;
    let plan =
        YamlPlan::read(text).map_err(|problems| refuse(file, &problems_message(&problems)))?;
    for twice in &plan.warnings {
        let place = SourceLocation {
            file: Some(file.path.clone()),
            line: twice.line,
            column: twice.column,
        };
        let psych::DuplicateKeyWarning {
            key, first_line, ..
        } = twice;
        let what = format!("the key `{key}` stands in line {first_line} too; the last one counts");
        host.log(LogLevel::Warning, &what, &place);
    }
    let parameters = plan.parameters.into_iter();
    let parameters = parameters.map(|it| parameter(evaluator, file, it));
    Ok(YamlProgram {
        name: name.to_owned(),
        file: file.path.to_string(),
        parameters: parameters.collect::<EvalResult<_>>()?,
        steps: plan.steps,
        result: plan.result,
    })
}

fn parameter(
    evaluator: &mut Evaluator<'_>,
    file: &SourceFile,
    parameter: YamlParameter,
) -> EvalResult<YamlPlanParameter> {
    let ty = match parameter.kind.as_ref() {
        None => Type::any(),
        Some(node) => {
            let text = node.as_str().unwrap_or_default();
            evaluator.parse_type(text, &[]).map_err(|_| {
                let problem = PlanProblem {
                    message: format!("`{text}` is no type"),
                    line: node.line,
                    column: node.column,
                };
                refuse(file, &problems_message(&[problem]))
            })?
        }
    };
    Ok(YamlPlanParameter {
        name: parameter.name,
        ty,
        default: parameter.default,
    })
}

/// Joins all problems, each with its location.
fn problems_message(problems: &[PlanProblem]) -> String {
    let told = problems.iter().map(ToString::to_string);
    told.collect::<Vec<_>>().join("; ")
}

/// Creates the error of a file that is not a valid plan.
#[cold]
fn refuse(file: &SourceFile, what: &str) -> Box<EvalUnwind> {
    let msg = format!("the plan cannot be read: {what} (file: {})", file.path);
    let details = [("file", Value::Str(file.path.clone()))];
    failure::bolt_error("bolt/invalid-plan", &msg, details.into_iter().collect())
}
