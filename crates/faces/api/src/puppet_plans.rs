//! Plan jobs whose steps are Puppet runs of one command: what `command/converge`, `command/multi_pass` and their schedules
//! share. Main type: [`PreparedPuppetPlan`].
//!
//! Invariant: the launch that is stored has no scope, since its nodes were resolved when it was requested.

use ::plans::PlanLaunch;
use api_types::{DeployCommand, ScopeKind};
use code_deployments::service::EnvironmentHold;
use jobs::{CatalogCode, JobSpec, JobWork, PuppetWork};
use serde_json::{Map, Value, json};
use store::SlotKey;

use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::plans::run::start_launch;
use crate::puppet_runs::{self, RequestedCode, choose_code};

/// The runs of a command, with the code that they get.
pub(crate) struct RequestedRuns {
    pub(crate) spec: JobSpec,
    pub(crate) code: CatalogCode,
    hold: Option<EnvironmentHold>,
}

/// A built-in plan that runs Puppet.
pub(crate) struct PuppetPlan {
    /// Name of the plan.
    pub(crate) name: &'static str,
    /// The launch as the program of the plan reads it, also after a restart of the server.
    pub(crate) stored: Value,
    /// Parameters that are shown with the plan job, beside the scope.
    pub(crate) shown: Vec<(&'static str, Value)>,
}

/// A built-in plan that can be started.
pub(crate) struct PreparedPuppetPlan {
    launch: PlanLaunch,
    /// Keeps the live version of the environment in place until the plan job does.
    hold: Option<EnvironmentHold>,
}

// === impl RequestedRuns ===

impl RequestedRuns {
    /// The runs of a command. Their code is chosen before their nodes, because applications are those of the code.
    pub(crate) async fn new(
        api: &SharedApiContext,
        caller: &ApiCaller,
        deploy: &DeployCommand,
    ) -> Result<Self, ApiFailure> {
        let mut spec = puppet_runs::request(api, caller, deploy.clone())?;
        let hold = choose_code(api, &mut spec, RequestedCode::of(deploy)).await?;
        let JobWork::Puppet(PuppetWork { code, .. }) = &spec.work else {
            unreachable!("the command is a run of Puppet");
        };
        let code = code.clone();
        Ok(Self { spec, code, hold })
    }

    /// The plan of these runs for the caller who requested them.
    pub(crate) fn into_plan(
        self,
        plan: PuppetPlan,
        deploy: &DeployCommand,
        caller: &ApiCaller,
    ) -> PreparedPuppetPlan {
        let mut params: Map<String, Value> = Map::new();
        for (name, value) in plan.shown {
            params.insert(name.to_owned(), value);
        }
        params.extend(shown_scope(deploy).map(|scope| ("scope".to_owned(), scope)));
        let launch = PlanLaunch {
            plan: plan.name.to_owned(),
            environment: deploy.environment.clone(),
            params,
            description: deploy.description.clone(),
            userdata: deploy.userdata.clone(),
            // What the code of a running plan job names is kept.
            code: Some(self.code.mode().to_owned()),
            code_id: self.code.code_id().map(|code_id| code_id.to_string()),
            built_in: Some(plan.stored),
            owner: caller.0.login.clone(),
            owner_id: caller.0.user_id.clone(),
            ..PlanLaunch::default()
        };
        let hold = self.hold;
        PreparedPuppetPlan { launch, hold }
    }
}

// === impl PreparedPuppetPlan ===

impl PreparedPuppetPlan {
    /// The plan as that of a slot of a schedule, which has at most one plan job.
    pub(crate) fn of_slot(mut self, slot: SlotKey) -> Self {
        self.launch.slot = Some(slot);
        self
    }

    /// Starts the plan; returns the number of its plan job.
    pub(crate) async fn start(self, api: &SharedApiContext) -> Result<i64, ApiFailure> {
        start_launch(api, &self.launch, self.hold).await
    }
}

/// The command as it is stored with its plan job.
pub(crate) fn without_scope(deploy: &DeployCommand) -> DeployCommand {
    DeployCommand {
        scope: None,
        ..deploy.clone()
    }
}

/// The scope of a command; `None` if it is a list of nodes, which may be very long.
fn shown_scope(deploy: &DeployCommand) -> Option<Value> {
    let scope = deploy.scope.clone()?;
    match scope.into_kind().ok()? {
        ScopeKind::Nodes(_) => None,
        _ => Some(json!(deploy.scope)),
    }
}
