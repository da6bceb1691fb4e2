//! Whose rights a plan has: [`Guarded`].
//!
//! The rule: a plan runs its tasks with the rights that its owner has at that moment, and a step on nodes of
//! which one is not permitted is not run at all.

use std::collections::BTreeSet;

use ::plans::{Actor, Effects, NotKnown, NotStarted, Order, Outcome, OverJobs};
use access::{Access, TaskScope};
use api_types::kinds;
use async_trait::async_trait;
use jobs::{Jobs, Scope, TaskRequest};
use serde_json::{Value, json};
use store::{JobNumber, PlanMark};

use super::owner::{self, OwnerError};

/// The job engine, behind the rights of a plan's owner.
pub(super) struct Guarded {
    pub(super) jobs: Jobs,
    pub(super) access: Access,
    pub(super) effects: OverJobs,
}

#[async_trait]
impl Effects for Guarded {
    async fn start(
        &self,
        actor: &Actor,
        order: Order,
        mark: PlanMark,
    ) -> Result<JobNumber, NotStarted> {
        if let Order::Task(request) = &order {
            self.check(actor, request).await?;
        }
        self.effects.start(actor, order, mark).await
    }

    async fn outcome(&self, job: JobNumber) -> Result<Outcome, NotKnown> {
        self.effects.outcome(job).await
    }

    async fn stop(&self, job: JobNumber) {
        self.effects.stop(job).await;
    }
}

impl Guarded {
    async fn check(&self, actor: &Actor, request: &TaskRequest) -> Result<(), NotStarted> {
        let unavailable =
            |error: &dyn std::fmt::Display| NotStarted::Unavailable(error.to_string());
        let identity = owner::identity(&self.access, &actor.owner, &actor.owner_id).await;
        let identity = identity.map_err(|error| match error {
            OwnerError::Store(error) => unavailable(&error),
            gone @ OwnerError::Gone { .. } => {
                refused(&gone.to_string(), json!({"owner": actor.owner}))
            }
        })?;
        let scope = self.access.task_scope(&identity, &request.task).await;
        match scope.map_err(|error| unavailable(&error))? {
            TaskScope::All => Ok(()),
            TaskScope::None => Err(forbidden(actor, &request.task, &[])),
            TaskScope::Some {
                nodes,
                node_groups,
                pql_queries,
            } => {
                let groups = node_groups.into_iter().map(Scope::NodeGroup);
                let queries = pql_queries.into_iter().map(|pql| Scope::Query(pql.into()));
                let mut allowed = nodes;
                for part in groups.chain(queries) {
                    allowed.extend(self.members(&part).await);
                }
                within(actor, request, &allowed)
            }
        }
    }

    /// The nodes of a part of a task target; one that cannot be looked up permits nothing.
    async fn members(&self, part: &Scope) -> Vec<String> {
        let nodes = self.jobs.targets(part, "").await.unwrap_or_default();
        nodes.iter().map(ToString::to_string).collect()
    }
}

fn within(
    actor: &Actor,
    request: &TaskRequest,
    allowed: &BTreeSet<String>,
) -> Result<(), NotStarted> {
    let Scope::Nodes(asked) = &request.scope else {
        return Err(forbidden(actor, &request.task, &[]));
    };
    let asked = asked.iter().map(ToString::to_string);
    let outside: Vec<String> = asked.filter(|node| !allowed.contains(node)).collect();
    match outside.is_empty() {
        true => Ok(()),
        false => Err(forbidden(actor, &request.task, &outside)),
    }
}

fn forbidden(actor: &Actor, task: &str, nodes: &[String]) -> NotStarted {
    let place = if nodes.is_empty() {
        "any node"
    } else {
        "some of these nodes"
    };
    let msg = format!(
        "{} may not run `{task}` on {place}; a plan has the rights of its owner",
        actor.owner
    );
    refused(&msg, json!({"task": task, "nodes": nodes}))
}

fn refused(msg: &str, details: Value) -> NotStarted {
    NotStarted::Refused(json!({"kind": kinds::NOT_PERMITTED.name, "msg": msg, "details": details}))
}
