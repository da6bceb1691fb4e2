//! `file::read`, `file::exists`, `file::readable`, `file::join`, `dir::children`, `system::env`, …: on the
//! machine that runs the plan, which is the server.
//!
//! Invariant: a plan reads files of modules and nothing else of the server, since the permission to
//! run a plan does not include reading the server's disk and environment.

use evaluator::function::{CallArguments, Dispatch, FunctionSpec, one, some};
use evaluator::{Eval, Evaluator};
use pcore::{Binary, Value};

use super::transfer::{FILE_FOLDERS, absent, find};
use super::{Run, unsupported};
use crate::host::PlanHost;

const NAME: &[Dispatch] = &[Dispatch::host(&[one("String[1]", "filename")])];

pub(super) const FUNCTIONS: &[(FunctionSpec, Run)] = &[
    (FunctionSpec::new("file::read", NAME), read),
    (FunctionSpec::new("file::exists", NAME), exists),
    (FunctionSpec::new("file::readable", NAME), exists),
    (
        FunctionSpec::new("file::join", &[Dispatch::host(&[some("String", "paths")])]),
        join,
    ),
    (
        FunctionSpec::new(
            "file::write",
            &[Dispatch::host(&[
                one("String[1]", "filename"),
                one("String", "content"),
            ])],
        ),
        not_here,
    ),
    (FunctionSpec::new("file::delete", NAME), not_here),
    (FunctionSpec::new("dir::children", NAME), not_here),
    (
        FunctionSpec::new(
            "system::env",
            &[Dispatch::host(&[one("String[1]", "name")])],
        ),
        not_here,
    ),
];

fn read(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let name = call.text(0);
    let Some(file) = find(host, &name, FILE_FOLDERS)? else {
        return Err(absent(&name, &call.place()));
    };
    Ok(match std::str::from_utf8(&file.bytes) {
        Ok(text) => Value::from(text),
        Err(_) => Value::Binary(Binary::new(file.bytes.to_vec())),
    })
}

fn exists(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    Ok(Value::Bool(
        find(host, &call.text(0), FILE_FOLDERS)?.is_some(),
    ))
}

fn join(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
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

fn not_here(_: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    Err(unsupported::because(
        call.name,
        "plans run on the server, whose disk and environment are not theirs; use a task on a node",
    ))
}
