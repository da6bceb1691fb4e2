//! `POST environments/:environment/run_order`: the order in which the nodes of a scope would run Puppet.
//!
//! Invariant: it is the order that a job on these nodes gets, as long as the code stays the same; nothing is started.

use std::collections::{HashMap, HashSet};

use api_types::environments::{
    AbsentNodes, RunOrder, RunOrderComponent, RunOrderNode, RunOrderQuery,
};
use axum::Json;
use axum::extract::State;
use jobs::{EnvironmentApplications, PlannedNodes, PlannedPasses};
use pcp::Certname;

use crate::SharedApiContext;
use crate::absent_nodes::find_absent_nodes;
use crate::body::StrictBody;
use crate::caller::ApiCaller;
use crate::code;
use crate::code_manager;
use crate::failure::ApiFailure;
use crate::job_specs::run_job_error;
use crate::request_parameters::PathVariables;
use crate::scope::engine_scope;

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(name): PathVariables<String>,
    StrictBody(query): StrictBody<RunOrderQuery>,
) -> Result<Json<RunOrder>, ApiFailure> {
    let environment = code_manager::environment("environment", &name)?;
    let scope = engine_scope(&api, &caller, query.scope.into_kind()?)?;
    code::read(&api, &name, |_| Ok(())).await?;
    let owner = &caller.0.user_id;
    if query.multi_pass {
        let planning = api.jobs.node_passes(&scope, (&environment, None), owner);
        let planned = planning.await.map_err(run_job_error)?;
        let runs = planned.passes.passes.iter().flat_map(|pass| &pass.nodes);
        let nodes = runs.map(|run| run.node.as_str());
        let absent_nodes = find_absent_nodes(&api, &caller, nodes).await?;
        return Ok(Json(pass_order(&planned, absent_nodes)));
    }
    let planning = api.jobs.node_order(&scope, &environment, owner);
    let planned = planning.await.map_err(run_job_error)?;
    let nodes = planned.order.nodes().iter().map(Certname::as_str);
    let absent_nodes = find_absent_nodes(&api, &caller, nodes).await?;
    Ok(Json(run_order(&planned, absent_nodes)))
}

fn run_order(planned: &PlannedNodes, absent_nodes: AbsentNodes) -> RunOrder {
    let mut components = components_of_nodes(&planned.applications);
    let levels = planned.order.levels();
    let ordered = planned.order.predecessors().zip(levels);
    let items = ordered.map(|((node, waits_for), level)| RunOrderNode {
        name: node.to_string(),
        pass: None,
        left_out: Vec::new(),
        level: u64::try_from(level).unwrap_or(u64::MAX),
        waits_for: waits_for.iter().map(ToString::to_string).collect(),
        components: components.remove(node).unwrap_or_default(),
    });
    RunOrder {
        items: items.collect(),
        partial_instances: partial_instances(&planned.applications, planned.order.nodes()),
        absent_nodes,
    }
}

/// The nodes pass by pass. Each has all components that are mapped to it, in each of its passes.
fn pass_order(planned: &PlannedPasses, absent_nodes: AbsentNodes) -> RunOrder {
    let components = components_of_nodes(&planned.applications);
    let mut items = Vec::new();
    for (number, pass) in (1..).zip(&planned.passes.passes) {
        for (run, level) in pass.nodes.iter().zip(pass.levels()) {
            items.push(RunOrderNode {
                name: run.node.to_string(),
                pass: Some(number),
                level: u64::try_from(level).unwrap_or(u64::MAX),
                waits_for: run.producers().iter().map(ToString::to_string).collect(),
                components: components.get(&run.node).cloned().unwrap_or_default(),
                left_out: run.left_out.iter().map(|it| it.reference.clone()).collect(),
            });
        }
    }
    let runs = planned.passes.passes.iter().flat_map(|pass| &pass.nodes);
    RunOrder {
        partial_instances: partial_instances(&planned.applications, runs.map(|run| &run.node)),
        items,
        absent_nodes,
    }
}

fn components_of_nodes(
    applications: &EnvironmentApplications,
) -> HashMap<&Certname, Vec<RunOrderComponent>> {
    let mut components: HashMap<&Certname, Vec<RunOrderComponent>> = HashMap::new();
    for instance in &applications.instances {
        for component in &instance.components {
            let of_node = components.entry(&component.node).or_default();
            of_node.push(RunOrderComponent {
                instance: instance.reference.clone(),
                component: component.reference.clone(),
            });
        }
    }
    components
}

/// The instances of which some nodes run, and some do not.
fn partial_instances<'a>(
    applications: &EnvironmentApplications,
    running: impl IntoIterator<Item = &'a Certname>,
) -> Vec<String> {
    let running: HashSet<&Certname> = running.into_iter().collect();
    let instances = applications.instances.iter();
    let partial = instances.filter(|instance| {
        let runs = |node: &Certname| running.contains(node);
        let nodes = || instance.components.iter().map(|it| &it.node);
        nodes().any(runs) && !nodes().all(runs)
    });
    partial.map(|it| it.reference.clone()).collect()
}
