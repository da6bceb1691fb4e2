//! `tutti job plan`: what `job run` would run on. Main type: [`PuppetRunPreview`].
//!
//! Invariant: nothing is started and no job number is used; the nodes and their batches are
//! determined as the server would do it.

use std::collections::{HashMap, HashSet};

use api_types::classifier::NodeGroupRules;
use api_types::environments::{AbsentNodes, RunOrder, RunOrderNode};
use api_types::rollout::RolloutOptions;
use api_types::{InventoryItem, InventoryList, PuppetDbQuery, Scope};
use serde_json::{Value, json};

use super::puppet::{PuppetRunTargets, describe_environment};
use crate::client::ApiClient;
use crate::failure::usage;
use crate::present::{Column, Fields, OutputOptions};
use crate::rollout::{self, RolloutArguments};
use crate::terminal::{escaped_name, style_failure, style_success};
use crate::values::or_empty;
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Result, VerbResult, app, node_group, present};

/// Arguments of `tutti job plan`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    place: PuppetRunTargets,
    /// How many nodes at once
    #[arg(long, value_name = "N", value_parser = crate::duration::parse_node_count)]
    concurrency: Option<u32>,
    #[command(flatten)]
    rollout: RolloutArguments,
    /// Show the passes of nodes that wait for each other
    #[arg(long, conflicts_with = "splay", help_heading = "Rollout")]
    multi_pass: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

/// The content of a preview.
struct PuppetRunPreview {
    environment: String,
    enforced: bool,
    /// The targets in words.
    target: String,
    concurrency: Option<u32>,
    rollout: RolloutOptions,
    /// Sizes of the batches; `None` for a run without batches.
    batches: Option<Vec<usize>>,
    nodes: Vec<PlannedNode>,
    /// References of the application instances of which only some nodes are among the targets.
    partial_instances: Vec<String>,
    /// Nodes among the targets that are not connected, in an environment that was named.
    absent_nodes: AbsentNodes,
}

/// A node of a preview.
struct PlannedNode {
    item: InventoryItem,
    /// Number of its batch; `None` for a run without batches.
    batch: Option<usize>,
    /// As in [`RunOrderNode`].
    level: u64,
    /// Nodes that must succeed before it starts.
    waits_for: Vec<String>,
    /// Numbers of its passes; empty without passes.
    passes: Vec<u64>,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let rollout = options.rollout.to_checked_options()?;
    let scope = options.place.targets.scope(client).await?;
    let target = options.place.targets.describe_targets(&scope);
    let (environment, enforced) = options.place.environment(client);
    let order = run_order(client, &environment, &scope, options.multi_pass).await?;
    let mut nodes = match &order {
        Some(order) => order.items.iter().map(|node| node.name.clone()).collect(),
        None => certnames(client, scope).await?,
    };
    let mut seen = HashSet::new();
    nodes.retain(|name| seen.insert(name.clone()));
    let sizes = rollout.batch.as_ref();
    let batches = sizes.map(|sizes| sizes.of(nodes.len()));
    let batch_of = assign_batches(&nodes, batches.as_deref().unwrap_or_default());
    nodes.sort_unstable();
    let path = ["orchestrator", "v1", "inventory"];
    let known: InventoryList = client.post(&path, &json!({ "nodes": nodes })).await?;
    let all_connected = known.items.iter().all(|item| item.connected);
    let order = order.unwrap_or_else(unordered);
    // of a node that runs several times, its last run
    let ordered: HashMap<&str, &RunOrderNode> =
        order.items.iter().map(|it| (&*it.name, it)).collect();
    let mut passes: HashMap<&str, Vec<u64>> = HashMap::new();
    for node in &order.items {
        passes.entry(&node.name).or_default().extend(node.pass);
    }
    let planned = known.items.into_iter().map(|item| PlannedNode {
        batch: batch_of.get(&item.name).copied(),
        level: ordered.get(&*item.name).map_or(0, |it| it.level),
        waits_for: ordered
            .get(&*item.name)
            .map_or_else(Vec::new, |it| it.waits_for.clone()),
        passes: passes.get(&*item.name).cloned().unwrap_or_default(),
        item,
    });
    let mut nodes: Vec<PlannedNode> = planned.collect();
    nodes.sort_by_key(|node| (node.batch, node.passes.last().copied(), node.level));
    let preview = PuppetRunPreview {
        environment,
        enforced,
        target,
        concurrency: options.concurrency,
        rollout,
        batches,
        nodes,
        partial_instances: order.partial_instances,
        absent_nodes: order.absent_nodes,
    };
    let format = options.shown.format;
    format.present(&preview.to_json(), |_| preview.print())?;
    Ok(match all_connected {
        true => EXIT_SUCCESS,
        false => EXIT_NODES_FAILED,
    })
}

/// The batch number of each node, counted from 1: nodes are assigned in their order.
fn assign_batches(nodes: &[String], batches: &[usize]) -> HashMap<String, usize> {
    let numbered = batches.iter().enumerate();
    let numbers = numbered.flat_map(|(index, size)| std::iter::repeat_n(index + 1, *size));
    nodes.iter().cloned().zip(numbers).collect()
}

// === impl PuppetRunPreview ===

impl PuppetRunPreview {
    fn to_json(&self) -> Value {
        let is_ordered = self.is_ordered();
        let items = self.nodes.iter().map(|node| {
            let mut item = json!(node.item);
            if let Some(batch) = node.batch {
                item["batch"] = json!(batch);
            }
            if is_ordered {
                item["level"] = json!(node.level);
                item["waits_for"] = json!(node.waits_for);
            }
            if !node.passes.is_empty() {
                item["passes"] = json!(node.passes);
            }
            item
        });
        let mut preview = json!({
            "environment": self.environment,
            "enforce_environment": self.enforced,
            "concurrency": self.concurrency,
            "items": items.collect::<Vec<_>>(),
        });
        if let (Some(all), Value::Object(options)) = (preview.as_object_mut(), json!(self.rollout))
        {
            all.extend(options);
        }
        if let Some(batches) = &self.batches {
            preview["batches"] = json!(batches);
        }
        if !self.partial_instances.is_empty() {
            preview["partial_instances"] = json!(self.partial_instances);
        }
        if self.absent_nodes != AbsentNodes::default() {
            preview["absent_nodes"] = json!(self.absent_nodes);
        }
        preview
    }

    /// True if some node waits for another.
    fn is_ordered(&self) -> bool {
        self.nodes.iter().any(|node| node.level > 0)
    }

    fn print(&self) {
        let environment = describe_environment(&self.environment, self.enforced);
        let limit = self.concurrency.map(|limit| limit.to_string());
        let limit = limit.unwrap_or_else(|| "the server's limit".to_owned());
        let batches = self.batches.as_deref();
        Fields::default()
            .value("environment", environment)
            .value("target", &self.target)
            .value("at once", limit)
            .optional("rollout", rollout::describe_rollout(&self.rollout))
            .optional("batches", batches.map(rollout::describe_batch_sizes))
            .value("nodes", self.nodes.len())
            .print();
        say!("");
        let mut columns: Vec<Column<'_, PlannedNode>> = vec![
            ("NODE", &|node| escaped_name(&node.item.name)),
            ("CONNECTED", &|node| match node.item.connected {
                true => style_success("yes"),
                false => style_failure("no"),
            }),
        ];
        if batches.is_some() {
            columns.push(("BATCH", &|node| or_empty(node.batch)));
        }
        if self.nodes.iter().any(|node| !node.passes.is_empty()) {
            columns.push(("PASSES", &|node| describe_passes(&node.passes)));
        }
        if self.is_ordered() {
            columns.push(("LEVEL", &|node| node.level.to_string()));
        }
        present::table(&self.nodes, &columns);
        app::plan::print_partial_instances(&self.partial_instances);
        app::absent_nodes::print_absent_nodes(&self.absent_nodes);
    }
}

/// The order in which the nodes run; `None` if each runs in its own environment.
async fn run_order(
    client: &ApiClient,
    environment: &str,
    scope: &Scope,
    multi_pass: bool,
) -> Result<Option<RunOrder>> {
    if environment.is_empty() && multi_pass {
        return usage(
            "passes need an environment, whose applications order the nodes; name it with --environment",
        );
    }
    if environment.is_empty() && scope.application.is_some() {
        return usage("an application needs an environment; name it with --environment");
    }
    match environment {
        "" => Ok(None),
        name => app::requests::fetch_run_order(client, name, scope, multi_pass)
            .await
            .map(Some),
    }
}

fn describe_passes(passes: &[u64]) -> String {
    let passes: Vec<String> = passes.iter().map(u64::to_string).collect();
    passes.join(", ")
}

fn unordered() -> RunOrder {
    RunOrder {
        items: Vec::new(),
        partial_instances: Vec::new(),
        absent_nodes: AbsentNodes::default(),
    }
}

/// The nodes of a scope, from the routes that resolve it.
async fn certnames(client: &ApiClient, scope: Scope) -> Result<Vec<String>> {
    if let Some(nodes) = scope.nodes {
        return Ok(nodes);
    }
    let query = match (scope.query, scope.node_group) {
        (Some(query), _) => query,
        (None, Some(group)) => group_query(client, &group).await?,
        (None, None) => {
            return usage("name nodes, a query or a node group");
        }
    };
    let query = PuppetDbQuery {
        query: Some(query),
        ..PuppetDbQuery::default()
    };
    let rows: Vec<Value> = client.post(&["pdb", "query", "v4"], &query).await?;
    let names: Vec<_> = rows
        .iter()
        .filter_map(|row| row["certname"].as_str().map(str::to_owned))
        .collect();
    if names.is_empty() {
        return usage(match rows.is_empty() {
            true => "no node fits".to_owned(),
            false => "the query's rows have no certname; ask for it, as in nodes[certname] { … }"
                .to_owned(),
        });
    }
    Ok(names)
}

async fn group_query(client: &ApiClient, group: &str) -> Result<Value> {
    let path = node_group::find::route([group, "rules"]);
    let rules: NodeGroupRules = client.get(&path, &[]).await?;
    let translated = rules.translated.inventory_query_format;
    let Some(condition) = translated.filter(|query| !query.is_null()) else {
        return usage(
            "the node group has no rule of its own, or one that is no query; so it has no nodes \
             that could be asked for",
        );
    };
    Ok(json!([
        "from",
        "inventory",
        ["extract", ["certname"], condition]
    ]))
}
