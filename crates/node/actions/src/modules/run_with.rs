//! `run_with` of `task`, `script` and `command`: like `run`, but as another user or with additional
//! variables. An extension of Tutti; a stock pxp-agent refuses it.
//!
//! Invariant: a request that names a user is never executed as another user.

use pxp::action::RunWithParams;
use serde_json::value::RawValue;

use super::request_plan::{
    ActionPlan, PlannedProgram, RequestPlan, RequestRefusal, parse, without_nul,
};

/// Shell that runs commands if the user may have no shell of its own.
const SHELL: &str = "/bin/sh";

pub(super) fn plan(module: &str, params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let RunWithParams { run, run_as, env } = parse(params)?;
    let planned = super::plan(module, "run", &run);
    let Some(Ok(RequestPlan::Work(ActionPlan::Run(mut plan)))) = planned else {
        return planned.unwrap_or_else(|| Err(RequestRefusal::UnknownModule(module.to_owned())));
    };
    for (name, value) in &env {
        variable(name)?;
        without_nul(name, value)?;
    }
    if let Some(user) = &run_as {
        without_nul("`run_as`", user)?;
        if user.is_empty() {
            return Err(RequestRefusal::Input("`run_as` is empty".to_owned()));
        }
        if matches!(plan.program, PlannedProgram::Installed(_)) {
            plan.program = PlannedProgram::Installed(SHELL.to_owned());
        }
    }
    plan.env = env.into_iter().collect();
    plan.user = run_as;
    Ok(RequestPlan::Work(ActionPlan::Run(plan)))
}

fn variable(name: &str) -> Result<(), RequestRefusal> {
    let mut bytes = name.bytes();
    let first = bytes.next();
    let fits = first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match fits {
        true => Ok(()),
        false => Err(RequestRefusal::Input(format!(
            "{name:?} is no name of a variable"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::plan_of;
    use super::*;

    #[test]
    fn it_is_a_run_with_a_user_and_variables() {
        let params = json!({"run": {"command": "id"}, "run_as": "web", "env": {"A_1": "it's"}});
        let Ok(RequestPlan::Work(ActionPlan::Run(plan))) = plan_of("command", "run_with", &params)
        else {
            panic!("no run");
        };
        assert_eq!(plan.user.as_deref(), Some("web"));
        assert_eq!(plan.env, [("A_1".to_owned(), "it's".to_owned())]);
        assert!(matches!(plan.program, PlannedProgram::Installed(shell) if shell == SHELL));
    }

    #[test]
    fn what_it_does_not_know_is_refused() {
        for params in [
            json!({"run": {"command": "id"}, "run_as": ""}),
            json!({"run": {"command": "id"}, "run_as": "a\u{0}"}),
            json!({"run": {"command": "id"}, "env": {"A=B": "c"}}),
            json!({"run": {"command": "id"}, "env": {"A": "c\u{0}"}}),
            json!({"run": {"command": "id"}, "umask": "022"}),
            json!({"run": {"command": "id", "more": 1}}),
            json!({"command": "id", "run_as": "web"}),
        ] {
            let refused = plan_of("command", "run_with", &params);
            assert!(matches!(refused, Err(RequestRefusal::Input(_))), "{params}");
        }
        assert!(plan_of("file", "run_with", &json!({})).is_err());
    }
}
