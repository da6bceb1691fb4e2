//! Enforcement of the rights of a plan: [`OwnerRestrictedJobs`].
//!
//! Invariants: a plan runs its tasks, and Puppet, with the rights that its owner has at that
//! moment; a step whose nodes include one that is not permitted is not run at all; and a plan whose
//! owner may run it only with the code of each node's own environment acts only on nodes of its own
//! environment, in all its functions.

use std::collections::BTreeSet;

use ::plans::{
    JobOutcomeError, JobPlanEffects, JobStartError, PlanActor, PlanEffects, PlanStepJob,
    StepOutcome,
};
use api_types::kinds;
use async_trait::async_trait;
use jobs::{Jobs, NodeScope, TaskRequest};
use pcp::Certname;
use rbac::{
    CodeReach, PermissionDenied, Rbac, RequestedPermission, TaskRight, TaskScope, UserIdentity,
};
use serde_json::{Value, json};
use store::{JobNumber, PlanJournalWrite};

use super::owner::{self, OwnerError};

/// The job engine, restricted to the rights of a plan's owner.
pub(super) struct OwnerRestrictedJobs {
    pub(super) jobs: Jobs,
    pub(super) access: Rbac,
    pub(super) effects: JobPlanEffects,
}

#[async_trait]
impl PlanEffects for OwnerRestrictedJobs {
    async fn start(
        &self,
        actor: &PlanActor,
        order: PlanStepJob,
        mark: PlanJournalWrite,
    ) -> Result<JobNumber, JobStartError> {
        let owner = self.owner(actor).await?;
        let (scope, of_task) = match &order {
            PlanStepJob::Task(request) => {
                let bound = self.check_task(actor, &owner, request).await?;
                (Some(&request.scope), bound)
            }
            PlanStepJob::Puppet(request) => {
                let run = self
                    .access
                    .authorize(&owner, RequestedPermission::any("puppet_agent", "run"));
                run.map_err(|denied| denied_error(actor, &denied))?;
                (request.scope.as_ref(), None)
            }
        };
        let of_plan = self.check_plan(actor, &owner)?;
        // Usually they are equal, and checked once.
        let bounds: BTreeSet<&str> = of_task.into_iter().chain(of_plan).collect();
        for environment in bounds {
            self.check_environment(actor, scope, environment).await?;
        }
        self.effects.start(actor, order, mark).await
    }

    async fn outcome(&self, job: JobNumber) -> Result<StepOutcome, JobOutcomeError> {
        self.effects.outcome(job).await
    }

    async fn stop(&self, job: JobNumber) {
        self.effects.stop(job).await;
    }
}

impl OwnerRestrictedJobs {
    async fn owner(&self, actor: &PlanActor) -> Result<UserIdentity, JobStartError> {
        let identity = owner::identity(&self.access, &actor.owner, &actor.owner_id).await;
        identity.map_err(|error| match error {
            OwnerError::Store(error) => JobStartError::Unavailable(error.to_string()),
            gone @ OwnerError::Gone { .. } => {
                refused_error(&gone.to_string(), json!({"owner": actor.owner}))
            }
        })
    }

    /// The environment to which all nodes of the plan are restricted, if there is one.
    fn check_plan<'a>(
        &self,
        actor: &'a PlanActor,
        owner: &UserIdentity,
    ) -> Result<Option<&'a str>, JobStartError> {
        let reach = self
            .access
            .authorize_plan(owner, &actor.plan, &actor.environment);
        let reach = reach.map_err(|denied| denied_error(actor, &denied))?;
        let is_bound = reach == CodeReach::OwnEnvironment;
        Ok(is_bound.then_some(actor.environment.as_str()))
    }

    /// The environment to which all nodes of the task are restricted, if there is one.
    async fn check_task<'a>(
        &self,
        actor: &'a PlanActor,
        owner: &UserIdentity,
        request: &'a TaskRequest,
    ) -> Result<Option<&'a str>, JobStartError> {
        // The engine reads it in the same way.
        let environment = match request.environment.as_str() {
            "" => actor.environment.as_str(),
            named => named,
        };
        let right = self
            .access
            .task_right(owner, &request.task, environment)
            .await;
        let TaskRight { scope, reach } =
            right.map_err(|error| JobStartError::Unavailable(error.to_string()))?;
        self.check_scope(actor, request, scope).await?;
        Ok((reach == CodeReach::OwnEnvironment).then_some(environment))
    }

    /// Refuses nodes that are not in the environment of the code.
    async fn check_environment(
        &self,
        actor: &PlanActor,
        scope: Option<&NodeScope>,
        environment: &str,
    ) -> Result<(), JobStartError> {
        let Some(NodeScope::Nodes(nodes)) = scope else {
            // Plans name their nodes; the nodes of another scope are not known here.
            return Err(external_directories(actor, environment, &[]));
        };
        let outside = self.jobs.find_outside_environment(nodes, environment).await;
        let outside = outside.map_err(|error| {
            let msg = format!("the environments of the nodes cannot be looked up: {error}");
            refused_error(&msg, json!({}))
        })?;
        match outside.is_empty() {
            true => Ok(()),
            false => Err(external_directories(actor, environment, &outside)),
        }
    }

    async fn check_scope(
        &self,
        actor: &PlanActor,
        request: &TaskRequest,
        scope: TaskScope,
    ) -> Result<(), JobStartError> {
        match scope {
            TaskScope::All => Ok(()),
            TaskScope::None => Err(forbidden_error(actor, &request.task, &[])),
            TaskScope::Some {
                nodes,
                node_groups,
                pql_queries,
            } => {
                let groups = node_groups.into_iter().map(NodeScope::NodeGroup);
                let queries = pql_queries
                    .into_iter()
                    .map(|pql| NodeScope::Query(pql.into()));
                let mut allowed = nodes;
                for part in groups.chain(queries) {
                    allowed.extend(self.resolve_members(&part).await);
                }
                check_permitted_nodes(actor, request, &allowed)
            }
        }
    }

    /// The nodes of a part of a task target; one that cannot be resolved permits nothing.
    async fn resolve_members(&self, part: &NodeScope) -> Vec<String> {
        let nodes = self
            .jobs
            .resolve_targets(part, "")
            .await
            .unwrap_or_default();
        nodes.iter().map(ToString::to_string).collect()
    }
}

fn check_permitted_nodes(
    actor: &PlanActor,
    request: &TaskRequest,
    allowed: &BTreeSet<String>,
) -> Result<(), JobStartError> {
    let NodeScope::Nodes(asked) = &request.scope else {
        return Err(forbidden_error(actor, &request.task, &[]));
    };
    let asked = asked.iter().map(ToString::to_string);
    let outside: Vec<String> = asked.filter(|node| !allowed.contains(node)).collect();
    match outside.is_empty() {
        true => Ok(()),
        false => Err(forbidden_error(actor, &request.task, &outside)),
    }
}

fn denied_error(actor: &PlanActor, denied: &PermissionDenied) -> JobStartError {
    let msg = format!("{denied}; a plan has the rights of its owner");
    refused_error(
        &msg,
        json!({"owner": actor.owner, "permission": denied.permission}),
    )
}

fn external_directories(actor: &PlanActor, environment: &str, nodes: &[Certname]) -> JobStartError {
    let nodes: Vec<&str> = nodes.iter().map(Certname::as_str).collect();
    let msg = format!(
        "{} may run the code of `{environment}` on nodes of that environment, and some of these are in another; \
         a plan has the rights of its owner",
        actor.owner
    );
    refused_error(&msg, json!({"environment": environment, "nodes": nodes}))
}

fn forbidden_error(actor: &PlanActor, task: &str, nodes: &[String]) -> JobStartError {
    let place = if nodes.is_empty() {
        "any node"
    } else {
        "some of these nodes"
    };
    let msg = format!(
        "{} may not run `{task}` on {place}; a plan has the rights of its owner",
        actor.owner
    );
    refused_error(&msg, json!({"task": task, "nodes": nodes}))
}

fn refused_error(msg: &str, details: Value) -> JobStartError {
    JobStartError::Refused(
        json!({"kind": kinds::NOT_PERMITTED.name, "msg": msg, "details": details}),
    )
}
