//! The PXP modules of the agent: one file per module, each turning a request's parameters into a
//! [`RequestPlan`] without side effects.
//!
//! Invariant: a request that cannot be executed is refused here, with the position of the error,
//! before anything is promised, written or started.

mod collect;
mod command;
mod echo;
mod environment;
mod external;
mod facts;
mod file;
mod lease;
mod ping;
mod place;
mod puppet;
mod request_plan;
mod run_with;
mod schema;
mod script;
mod status;
mod task;

use pxp::action::{
    CANCEL_ACTION, HOLD_LEASE_ACTION, RELEASE_LEASE_ACTION, SHOW_LEASE_ACTION, TUTTI_MODULE,
};
use serde_json::value::RawValue;

use self::request_plan::parse;

pub(crate) use collect::{COLLECTOR, collect_main};
pub(crate) use environment::AgentEnvironment;
pub(crate) use external::ExternalModules;
pub(crate) use facts::{FactPrograms, collect as collect_facts};
pub(crate) use file::install_item;
pub(crate) use place::{PLACER, place_main};
pub(crate) use puppet::{
    LEASE_HOLDER, RUNNER, WaitingFor, holder_main, query_state_dir, result_of, runner_main,
    status_text,
};
pub(crate) use request_plan::{
    ActionPlan, FILES_DIRECTORY, FilePlan, ItemKind, PlannedFile, PlannedProgram, ProcessInput,
    RequestPlan, RequestRefusal, RunPlan,
};

/// The module that runs tasks, whose results may contain secrets.
pub(crate) const TASK_MODULE: &str = "task";

/// True for the agent's own modules that are answered at once.
pub(crate) fn is_quick(module: &str) -> bool {
    matches!(module, "echo" | "facts" | "ping" | "status" | TUTTI_MODULE)
}

/// Plans a request for one of the agent's own modules; `None` for others.
pub(crate) fn plan(
    module: &str,
    action: &str,
    params: &RawValue,
) -> Option<Result<RequestPlan, RequestRefusal>> {
    let planned = match (module, action) {
        ("echo", "echo") => echo::plan(params),
        ("facts", "collect") => facts::plan(params),
        ("ping", "ping") => ping::plan(params),
        ("status", "query") => status::plan(params),
        (TUTTI_MODULE, CANCEL_ACTION) => parse(params).map(RequestPlan::Cancel),
        (TUTTI_MODULE, HOLD_LEASE_ACTION) => lease::plan_hold(params),
        (TUTTI_MODULE, RELEASE_LEASE_ACTION) => lease::plan_release(params),
        (TUTTI_MODULE, SHOW_LEASE_ACTION) => lease::plan_show(params),
        ("command" | "script" | "task", "run_with") => run_with::plan(module, params),
        ("command", "run") => command::plan(params),
        ("script", "run") => script::plan(params),
        ("task", "run") => task::plan(params),
        ("file", "download") => file::plan(params),
        ("file", "collect") => collect::plan(params),
        ("file", "place") => place::plan(params),
        (module, "run") if puppet::MODULES.contains(&module) => puppet::plan(params),
        (
            "echo" | "facts" | "ping" | "status" | "command" | "script" | "task" | "file"
            | TUTTI_MODULE,
            _,
        ) => Err(RequestRefusal::UnknownAction {
            module: module.into(),
            action: action.into(),
        }),
        (module, _) if puppet::MODULES.contains(&module) => Err(RequestRefusal::UnknownAction {
            module: module.into(),
            action: action.into(),
        }),
        _ => return None,
    };
    Some(planned)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::Value;

    use super::*;

    pub(crate) fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    pub(crate) fn plan_of(
        module: &str,
        action: &str,
        params: &Value,
    ) -> Result<RequestPlan, RequestRefusal> {
        plan(module, action, &raw(params)).expect("one of our modules")
    }

    pub(crate) fn run_plan(module: &str, params: &Value) -> RunPlan {
        match plan_of(module, "run", params) {
            Ok(RequestPlan::Work(ActionPlan::Run(plan))) => plan,
            other => panic!("no run plan: {other:?}"),
        }
    }

    #[test]
    fn unknown_names_are_told_apart() {
        assert!(plan("nope", "run", &raw(&Value::Null)).is_none());
        let error = plan_of("task", "walk", &Value::Null).unwrap_err();
        assert_eq!(error.to_string(), "unknown action 'walk' for module 'task'");
    }
}
