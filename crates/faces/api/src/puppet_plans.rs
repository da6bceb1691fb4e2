//! Plan jobs whose steps are Puppet runs of one command: what `command/converge` and `command/multi_pass` share.
//!
//! Invariant: the launch that is stored has no scope, since its nodes were resolved when it was requested.

use ::plans::PlanLaunch;
use api_types::{DeployCommand, ScopeKind};
use jobs::CatalogCode;
use serde_json::{Map, Value, json};

use crate::caller::ApiCaller;

/// A built-in plan that runs Puppet.
pub(crate) struct PuppetPlan<'a> {
    /// Name of the plan.
    pub(crate) name: &'static str,
    pub(crate) deploy: &'a DeployCommand,
    pub(crate) code: &'a CatalogCode,
    /// The launch as the program of the plan reads it, also after a restart of the server.
    pub(crate) stored: Value,
    /// Parameters that are shown with the plan job, beside the scope.
    pub(crate) shown: Vec<(&'static str, Value)>,
}

// === impl PuppetPlan ===

impl PuppetPlan<'_> {
    /// The launch of the plan for its caller.
    pub(crate) fn into_launch(self, caller: &ApiCaller) -> PlanLaunch {
        let deploy = self.deploy;
        let mut params: Map<String, Value> = Map::new();
        for (name, value) in self.shown {
            params.insert(name.to_owned(), value);
        }
        params.extend(shown_scope(deploy).map(|scope| ("scope".to_owned(), scope)));
        PlanLaunch {
            plan: self.name.to_owned(),
            environment: deploy.environment.clone(),
            params,
            description: deploy.description.clone(),
            userdata: deploy.userdata.clone(),
            // What the code of a running plan job names is kept.
            code: Some(self.code.mode().to_owned()),
            code_id: self.code.code_id().map(|code_id| code_id.to_string()),
            built_in: Some(self.stored),
            owner: caller.0.login.clone(),
            owner_id: caller.0.user_id.clone(),
            ..PlanLaunch::default()
        }
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
