//! The nodes that a plan is run for. Main type: [`PlanTargets`].
//!
//! Invariant: nodes are an ordinary parameter of the plan, `targets` or `nodes`; a query and a
//! group are resolved by the server.

use api_types::{Object, PlanDetail, PlanParam, PlanParamKind};
use serde_json::{Value, json};

use crate::client::ApiClient;
use crate::failure::usage;
use crate::targets::{connected_or_returning, nodes, query_value};
use crate::{CommandFailure, Result, node_group, params};

/// Targets of a plan: at most one of the options.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(required = false, multiple = false)]
pub(crate) struct PlanTargets {
    /// Nodes for the plan's parameter targets (or nodes), separated by commas: certnames, short names, globs such as
    /// 'web*', regular expressions such as '/^web[0-9]/'; or all; or @FILE with one on each line (- is stdin)
    #[arg(
        long,
        short = 'n',
        visible_alias = "targets",
        visible_short_alias = 't',
        value_name = "NODES"
    )]
    nodes: Option<String>,
    /// The same for the result of a query: PQL or AST, or @FILE that contains it
    #[arg(long, short = 'q', value_name = "QUERY")]
    query: Option<String>,
    /// The same for the nodes of a node group: its UUID or its name
    #[arg(long, value_name = "GROUP")]
    node_group: Option<String>,
    /// The same for every connected node, and those expected back after a restart of the server
    #[arg(long)]
    all: bool,
}

/// The parameters that take names of nodes, in order of preference.
const PARAMETERS: [&str; 2] = ["targets", "nodes"];

// === impl PlanTargets ===

impl PlanTargets {
    /// The parameter and its value, if targets are given.
    pub(crate) async fn parameter(
        &self,
        client: &ApiClient,
        plan: &PlanDetail,
        params: &Object,
    ) -> Result<Option<(String, PlanParam)>> {
        let (value, kind) = if let Some(query) = &self.query {
            (query_value(query)?, Some(PlanParamKind::Query))
        } else if let Some(group) = &self.node_group {
            let group = node_group::find::resolve_id(client, group).await?;
            (Value::String(group), Some(PlanParamKind::NodeGroup))
        } else if self.all {
            (json!(connected_or_returning(client).await?), None)
        } else if let Some(typed) = &self.nodes {
            (json!(nodes(client, typed).await?), None)
        } else {
            return Ok(None);
        };
        let name = target_parameter_name(plan)?;
        if params.contains_key(name) {
            return usage(format!(
                "the nodes are given twice: as {name} and with an option"
            ));
        }
        let value = match value {
            // A plan whose parameter is text gets names separated by commas.
            Value::Array(names) if kind.is_none() && params::is_text(&plan.metadata, name) => {
                let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
                Value::String(names.join(","))
            }
            value => value,
        };
        Ok(Some((name.to_owned(), PlanParam { value, kind })))
    }
}

fn target_parameter_name(plan: &PlanDetail) -> Result<&'static str> {
    let has = |name: &&str| {
        let parameters = plan.metadata.get("parameters");
        parameters.is_some_and(|parameters| parameters.get(*name).is_some())
    };
    PARAMETERS.into_iter().find(has).ok_or_else(|| {
        let what = format!(
            "the plan {} has no parameter targets or nodes; give the nodes as one that it has \
             (`tutti plan show {0}`)",
            plan.name
        );
        CommandFailure::Usage(what)
    })
}
