//! `pxp-module-puppet run`: runs Puppet on the node, as pxp-module-puppet does, but without Ruby
//! before `puppet agent` itself.
//!
//! The action is the agent's own executable again, the *runner* ([`runner_main`]), under a wrapper
//! like every other action. The runner waits for a run in progress, starts `puppet agent`, reads
//! the run's report and leaves a [`PuppetResult`](pxp::action::PuppetResult) in the spool entry. So
//! neither the wait nor the result depends on the agent. Invariant: a report belongs to this run,
//! because `puppet agent` writes it to a path that only this run uses (`--lastrunreport` below the
//! spool entry); afterwards it is copied to the usual path for other tools.

mod cause;
mod direct;
mod environment;
mod flags;
mod lease_holder;
mod lock;
mod report;
mod reported_reruns;
mod result;
mod run_turn;
mod runner;
mod runner_request;
mod settings;
mod spawn;

use pxp::action::PuppetParams;
use serde_json::value::RawValue;

use super::request_plan::{
    ActionPlan, PlannedProgram, ProcessInput, RequestPlan, RequestRefusal, RunPlan, parse,
};
use crate::spool::ResultKind;

pub(crate) use lease_holder::{LEASE_HOLDER, holder_main};
pub(crate) use lock::WaitingFor;
pub(crate) use result::{result_of, status_text};
pub(crate) use runner::runner_main;
pub(crate) use runner_request::PuppetInput;
pub(crate) use settings::query_state_dir;

/// The module's name in PXP, and a shorter alias.
pub(super) const MODULES: [&str; 2] = ["pxp-module-puppet", "puppet"];

/// First argument of the runner; a wrapper has the spool entry in this position.
pub(crate) const RUNNER: &str = "--puppet";

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let params: PuppetParams = parse(params)?;
    let flags = flags::check(&params.flags, params.job.as_deref());
    let input = PuppetInput {
        flags: flags.map_err(RequestRefusal::Input)?,
        reports_reruns: params.wants_reruns(),
        lease: params.lease(),
    };
    Ok(RequestPlan::Work(ActionPlan::Run(RunPlan {
        program: PlannedProgram::AgentExecutable,
        args: vec![RUNNER.to_owned()],
        input: ProcessInput::Puppet(input),
        files: vec![],
        keep_files: false,
        result: ResultKind::Puppet,
        user: None,
        env: vec![],
    })))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{plan_of, run_plan};
    use super::*;

    #[test]
    fn a_request_becomes_a_run_of_the_runner() {
        for module in MODULES {
            let plan = run_plan(module, &json!({"flags": ["--noop"], "job": "7", "env": []}));
            assert!(matches!(plan.program, PlannedProgram::AgentExecutable));
            let ProcessInput::Puppet(input) = plan.input else {
                panic!("{:?}", plan.input)
            };
            assert_eq!(input.flags[0], "--noop");
            assert_eq!(plan.result, ResultKind::Puppet);
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for bad in [
            json!({"flags": ["-t"]}),
            json!({"flags": "--noop"}),
            json!({"flags": [1]}),
            json!({"flags": [], "noop": true}),
            json!({"flags": [], "job": "a b"}),
            json!([]),
        ] {
            let refused = plan_of("pxp-module-puppet", "run", &bad);
            assert!(matches!(refused, Err(RequestRefusal::Input(_))), "{bad}");
        }
    }
}
