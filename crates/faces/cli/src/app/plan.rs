//! `tutti app plan`: the nodes of an application in the order in which they would run.

use std::collections::BTreeSet;

use api_types::environments::{RunOrder, RunOrderNode};

use super::ApplicationArguments;
use super::absent_nodes::print_absent_nodes;
use super::requests::fetch_run_order;
use crate::VerbResult;
use crate::client::ApiClient;
use crate::defaults::WAITS_NAMED;
use crate::present::{Fields, OutputOptions};
use crate::terminal::{escape_control, escaped_name, style_heading};

/// Arguments of `tutti app plan`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    application: ApplicationArguments,
    /// Show the passes of nodes that wait for each other
    #[arg(long)]
    multi_pass: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let environment = options.application.environment(client)?;
    let scope = options.application.scope();
    let order = fetch_run_order(client, &environment, &scope, options.multi_pass).await?;
    let format = options.shown.format;
    format.present(&order, |order| print_run_order(order, &environment))
}

/// Prints the nodes, level by level, and pass by pass if there are passes.
pub(super) fn print_run_order(order: &RunOrder, environment: &str) {
    let components = order.items.iter().flat_map(|node| &node.components);
    let instances: BTreeSet<&str> = components.map(|it| it.instance.as_str()).collect();
    let instances: Vec<&str> = instances.into_iter().collect();
    let names: BTreeSet<&str> = order.items.iter().map(|node| node.name.as_str()).collect();
    let passes = order.items.iter().filter_map(|node| node.pass).max();
    Fields::default()
        .text("environment", environment)
        .text("instances", &instances.join(", "))
        .value("nodes", names.len())
        .optional("passes", passes)
        .print();
    let mut nodes: Vec<&RunOrderNode> = order.items.iter().collect();
    nodes.sort_by_key(|node| (node.pass, node.level));
    let group = |node: &RunOrderNode| (node.pass, node.level);
    for of_level in nodes.chunk_by(|one, next| group(one) == group(next)) {
        let count = match of_level.len() {
            1 => "1 node".to_owned(),
            count => format!("{count} nodes"),
        };
        let (pass, level) = of_level.first().map_or((None, 0), |node| group(node));
        let heading = match pass {
            Some(pass) => format!("Pass {pass}, level {level}"),
            None => format!("Level {level}"),
        };
        say!("");
        say!("{}: {count}", style_heading(heading));
        of_level.iter().for_each(|node| print_node(node));
    }
    if !order.partial_instances.is_empty() {
        say!("");
        print_partial_instances(&order.partial_instances);
    }
    print_absent_nodes(&order.absent_nodes);
}

/// Prints the instances of which only some nodes would run.
pub(crate) fn print_partial_instances(instances: &[String]) {
    for instance in instances {
        say!(
            "{} has components on other nodes too",
            escape_control(instance)
        );
    }
}

fn print_node(node: &RunOrderNode) {
    say!(
        "  {}{}",
        escaped_name(&node.name),
        describe_waits(&node.waits_for)
    );
    for component in &node.components {
        let (instance, component) = (&component.instance, &component.component);
        let later = match node.left_out.contains(component) {
            true => " (left for a later pass)",
            false => "",
        };
        say!(
            "      {}: {}{later}",
            escape_control(instance),
            escape_control(component)
        );
    }
}

/// The nodes that a node waits for, as ` after a, b`; empty if there are none.
fn describe_waits(waits_for: &[String]) -> String {
    let named: Vec<String> = waits_for
        .iter()
        .take(WAITS_NAMED)
        .map(|name| escape_control(name))
        .collect();
    match waits_for.len().saturating_sub(WAITS_NAMED) {
        _ if named.is_empty() => String::new(),
        0 => format!(" after {}", named.join(", ")),
        more => format!(" after {} and {more} more", named.join(", ")),
    }
}
