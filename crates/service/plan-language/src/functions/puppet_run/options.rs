//! The options of `run_puppet`. Main type: [`PuppetRunOptions`].
//!
//! Invariant: options that contradict each other are refused with the words of the commands that run Puppet.

use api_types::multi_pass::check_passes;
use api_types::{ConvergenceLimits, DeployCommand};
use convergence::ConvergenceOptions;
use environments::EnvironmentName;
use evaluator::{EvalResult, EvalUnwind};
use jobs::PuppetWork;
use serde_json::{Map, Value as Json, json};

use super::{FUNCTION, PlanActionOptions};
use crate::{failure, json as data};

/// The option for repeated runs: true, or a hash of limits.
const UNTIL_CONVERGED: &str = "until_converged";

/// The option for runs in passes: true.
const MULTI_PASS: &str = "multi_pass";

/// The options that are passed to Puppet, beside the common ones, which begin with `_`.
const PUPPET_OPTIONS: [&str; 17] = [
    "environment",
    "enforce_environment",
    "barrier",
    "quarantine",
    "no_noop",
    "debug",
    "trace",
    "evaltrace",
    "use_cached_catalog",
    "usecacheonfailure",
    "filetimeout",
    "http_connect_timeout",
    "http_keepalive_timeout",
    "http_read_timeout",
    "ordering",
    "tags",
    "skip_tags",
];

/// The runs that a call requests.
pub(super) struct PuppetRunOptions {
    pub(super) work: PuppetWork,
    pub(super) mode: RunMode,
    /// The options as they are shown.
    pub(super) shown: Json,
}

/// The way in which targets run Puppet.
pub(super) enum RunMode {
    Once,
    UntilConverged(ConvergenceOptions),
    /// The environment is that whose applications order the targets.
    InPasses(EnvironmentName),
}

// === impl PuppetRunOptions ===

impl PuppetRunOptions {
    pub(super) fn parse(options: &PlanActionOptions) -> EvalResult<Self> {
        let mut given = given_options(options)?;
        let limits = take_limits(&mut given)?;
        let is_multi_pass = take_multi_pass(&mut given)?;
        if is_multi_pass && limits.is_some() {
            let what = "contradicts until_converged: a pass runs each node once; leave one out";
            return Err(invalid(format!("{MULTI_PASS} {what}")));
        }
        let mut shown = json!({"options": given, "noop": options.noop});
        if let Some(limits) = &limits {
            shown[UNTIL_CONVERGED] = json!(limits);
        }
        if is_multi_pass {
            shown[MULTI_PASS] = json!(true);
        }
        let command = deploy_command(given, options)?;
        let work = PuppetWork::from_command(&command);
        let mut work = work.map_err(|error| invalid(format!("environment: {error}")))?;
        work.reports_reruns = limits.is_some();
        let mode = match (limits, is_multi_pass) {
            (Some(limits), _) => {
                let repeated = limits.check_repeated(&command);
                repeated
                    .map_err(|what| invalid(format!("{UNTIL_CONVERGED} contradicts {what}")))?;
                RunMode::UntilConverged(ConvergenceOptions::from(&limits))
            }
            (None, true) => {
                let checked = check_passes(&command);
                checked.map_err(|what| invalid(format!("{MULTI_PASS} contradicts {what}")))?;
                let environment = work.environment.as_ref().map(|it| it.name.clone());
                environment.map_or(RunMode::Once, RunMode::InPasses)
            }
            (None, false) => RunMode::Once,
        };
        Ok(Self { work, mode, shown })
    }
}

/// The options of the call that are not common to all actions, without those that are undefined.
fn given_options(options: &PlanActionOptions) -> EvalResult<Map<String, Json>> {
    let mut given = Map::new();
    for (name, value) in options.parameters.iter() {
        let name = name.to_string();
        let is_known = [UNTIL_CONVERGED, MULTI_PASS].contains(&name.as_str())
            || PUPPET_OPTIONS.contains(&name.as_str());
        if !is_known {
            return Err(invalid(format!(
                "there is no option '{name}'; there are {}, {UNTIL_CONVERGED}, {MULTI_PASS}, and common ones such \
                 as _noop",
                PUPPET_OPTIONS.join(", ")
            )));
        }
        let (json, _) = data::to_json(value).map_err(|error| {
            invalid(format!("{name} is of type {}, which is not Data", error.ty))
        })?;
        if !json.is_null() {
            given.insert(name, json);
        }
    }
    Ok(given)
}

fn take_limits(given: &mut Map<String, Json>) -> EvalResult<Option<ConvergenceLimits>> {
    match given.remove(UNTIL_CONVERGED) {
        None | Some(Json::Bool(false)) => Ok(None),
        Some(Json::Bool(true)) => Ok(Some(ConvergenceLimits::default())),
        Some(limits) => {
            let limits: ConvergenceLimits = serde_json::from_value(limits)
                .map_err(|error| invalid(format!("{UNTIL_CONVERGED}: {error}")))?;
            let checked = limits.check(UNTIL_CONVERGED);
            checked.map_err(|error| invalid(error.body.msg))?;
            Ok(Some(limits))
        }
    }
}

fn take_multi_pass(given: &mut Map<String, Json>) -> EvalResult<bool> {
    match given.remove(MULTI_PASS) {
        None => Ok(false),
        Some(Json::Bool(value)) => Ok(value),
        Some(_) => Err(invalid(format!("{MULTI_PASS}: must be true or false"))),
    }
}

/// The command with these options. Without an environment each target runs in its own.
fn deploy_command(
    mut given: Map<String, Json>,
    options: &PlanActionOptions,
) -> EvalResult<DeployCommand> {
    let has_environment = given.contains_key("environment");
    given.entry("environment").or_insert_with(|| json!(""));
    if !has_environment {
        given.insert("enforce_environment".to_owned(), json!(false));
    }
    let mut command: DeployCommand =
        serde_json::from_value(Json::Object(given)).map_err(|error| invalid(error.to_string()))?;
    command.noop = options.noop;
    command.splay = options.limits.rollout.splay;
    match command.noop && command.no_noop {
        true => Err(invalid("no_noop contradicts _noop".to_owned())),
        false => Ok(command),
    }
}

fn invalid(what: String) -> Box<EvalUnwind> {
    failure::invalid_value_error(format!("{FUNCTION}: {what}"))
}
