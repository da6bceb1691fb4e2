//! Functions for files of the machine that runs the plan, which is the server: `file::read`,
//! `file::exists`, `file::readable`, `file::join`, `dir::children`, `system::env`, ….
//!
//! Invariant: a plan reads files of modules and nothing else of the server, since the permission to
//! run a plan does not include reading the server's disk and environment.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, some};
use evaluator::{EvalResult, Evaluator};
use pcore::{Binary, Value};

use super::plan_function::PlanFunctionBody;
use super::transfer::{FILE_FOLDERS, absent_file_error, find};
use super::unsupported;
use crate::host::PlanHost;

const NAME: &[FunctionDispatch] = &[FunctionDispatch::host(&[one("String[1]", "filename")])];

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (FunctionSpec::new("file::read", NAME), read),
    (FunctionSpec::new("file::exists", NAME), exists),
    (FunctionSpec::new("file::readable", NAME), exists),
    (
        FunctionSpec::new(
            "file::join",
            &[FunctionDispatch::host(&[some("String", "paths")])],
        ),
        join,
    ),
    (
        FunctionSpec::new(
            "file::write",
            &[FunctionDispatch::host(&[
                one("String[1]", "filename"),
                one("String", "content"),
            ])],
        ),
        refuse_local_read,
    ),
    (FunctionSpec::new("file::delete", NAME), refuse_local_read),
    (FunctionSpec::new("dir::children", NAME), refuse_local_read),
    (
        FunctionSpec::new(
            "system::env",
            &[FunctionDispatch::host(&[one("String[1]", "name")])],
        ),
        refuse_local_read,
    ),
];

fn read(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let name = call.text(0);
    let Some(file) = find(host, &name, FILE_FOLDERS)? else {
        return Err(absent_file_error(&name, &call.location()));
    };
    Ok(match std::str::from_utf8(&file.bytes) {
        Ok(text) => Value::from(text),
        Err(_) => Value::Binary(Binary::new(file.bytes.to_vec())),
    })
}

fn exists(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::Bool(
        find(host, &call.text(0), FILE_FOLDERS)?.is_some(),
    ))
}

fn join(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let (mut joined, mut is_first) = (String::new(), true);
    for part in &call.arguments {
        let part = part.to_string();
        if is_first {
            is_first = false;
            joined.push_str(&part);
            continue;
        }
        if !joined.ends_with('/') {
            joined.push('/');
        }
        joined.push_str(part.trim_start_matches('/'));
    }
    Ok(Value::from(joined))
}

fn refuse_local_read(
    _: &PlanHost<'_>,
    _: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    Err(unsupported::unsupported_error(
        call.name,
        "plans run on the server, whose disk and environment are not theirs; use a task on a node",
    ))
}
