//! Enforcement of the rights of a plan: [`OwnerRestrictedJobs`].
//!
//! Invariants: a plan runs its tasks, and Puppet, with the rights that its owner has at that
//! moment; a step whose nodes include one that is not permitted is not run at all; and a plan whose
//! owner may run it only with the code of each node's own environment acts only on nodes of its own
//! environment, in all its functions.

use std::collections::BTreeSet;

use ::plans::{
    JobOutcomeError, JobPlanEffects, JobStartError, PlanActor, PlanEffects, StepOutcome,
};
use api_types::kinds;
use async_trait::async_trait;
use jobs::{JobSpec, Jobs, NodeScope, TaskWork};
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
        spec: JobSpec,
        mark: PlanJournalWrite,
    ) -> Result<JobNumber, JobStartError> {
        let owner = self.owner(actor).await?;
        let of_task = match spec.work.task() {
            Some(task) => self.check_task(actor, &owner, task, &spec.scope).await?,
            None => {
                let run = RequestedPermission::any("puppet_agent", "run");
                let run = self.access.authorize(&owner, run);
                run.map_err(|denied| denied_error(actor, &denied))?;
                None
            }
        };
        let of_plan = match actor.is_built_in {
            // It does no more than the job itself, for which the right was checked.
            true => None,
            false => self.check_plan(actor, &owner)?,
        };
        // Usually they are equal, and checked once.
        let bounds: BTreeSet<&str> = of_task.into_iter().chain(of_plan).collect();
        for environment in bounds {
            self.check_environment(actor, &spec.scope, environment)
                .await?;
        }
        self.effects.start(actor, spec, mark).await
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
        task: &'a TaskWork,
        nodes: &NodeScope,
    ) -> Result<Option<&'a str>, JobStartError> {
        let (name, environment) = (task.name.as_str(), task.environment.as_str());
        let right = self.access.task_right(owner, name, environment).await;
        let TaskRight { scope, reach } =
            right.map_err(|error| JobStartError::Unavailable(error.to_string()))?;
        self.check_scope(actor, name, nodes, scope).await?;
        Ok((reach == CodeReach::OwnEnvironment).then_some(environment))
    }

    /// Refuses nodes that are not in the environment of the code.
    async fn check_environment(
        &self,
        actor: &PlanActor,
        scope: &NodeScope,
        environment: &str,
    ) -> Result<(), JobStartError> {
        let NodeScope::Nodes(nodes) = scope else {
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
        task: &str,
        nodes: &NodeScope,
        scope: TaskScope,
    ) -> Result<(), JobStartError> {
        match scope {
            TaskScope::All => Ok(()),
            TaskScope::None => Err(forbidden_error(actor, task, &[])),
            TaskScope::Some {
                nodes: named,
                node_groups,
                pql_queries,
            } => {
                let groups = node_groups.into_iter().map(NodeScope::NodeGroup);
                let queries = pql_queries
                    .into_iter()
                    .map(|pql| NodeScope::Query(pql.into()));
                let mut allowed = named;
                for part in groups.chain(queries) {
                    allowed.extend(self.resolve_members(&part).await);
                }
                check_permitted_nodes(actor, task, nodes, &allowed)
            }
        }
    }

    /// The nodes of a part of a task target; one that cannot be resolved permits nothing.
    async fn resolve_members(&self, part: &NodeScope) -> Vec<String> {
        let nodes = self
            .jobs
            .resolve_targets(part, "", "")
            .await
            .unwrap_or_default();
        nodes.iter().map(ToString::to_string).collect()
    }
}

fn check_permitted_nodes(
    actor: &PlanActor,
    task: &str,
    nodes: &NodeScope,
    allowed: &BTreeSet<String>,
) -> Result<(), JobStartError> {
    let NodeScope::Nodes(asked) = nodes else {
        return Err(forbidden_error(actor, task, &[]));
    };
    let asked = asked.iter().map(ToString::to_string);
    let outside: Vec<String> = asked.filter(|node| !allowed.contains(node)).collect();
    match outside.is_empty() {
        true => Ok(()),
        false => Err(forbidden_error(actor, task, &outside)),
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
