//! `tutti node-group pin`, `unpin`, `unpin-from-all` and `explain`.

use api_types::classifier::{
    ClassificationExplanation, Classified, ClassifyNode, PinNodes, UnpinnedNodes,
};

use serde_json::{Value, json};

use super::find;
use super::read::print_part;
use crate::client::{self, ApiClient};
use crate::failure::usage;
use crate::present::{Fields, OutputOptions};
use crate::terminal::{escape_control, escaped_name};
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult, targets, values};

/// Arguments of `tutti node-group pin` and `unpin`.
#[derive(Debug, clap::Args)]
pub struct PinOptions {
    /// Name or id of the group
    group: String,
    /// Certnames, or @FILE with one on each line (@- is stdin)
    #[arg(required = true)]
    nodes: Vec<String>,
}

/// Pins or unpins nodes; `command` is `pin` or `unpin`.
pub(super) async fn pin(pins: &PinOptions, command: &str, client: &ApiClient) -> VerbResult {
    let nodes = targets::parse_all(&pins.nodes)?;
    let id = find::resolve_id(client, &pins.group).await?;
    let count = values::format_count(nodes.len(), "node");
    let path = find::route([&id, command]);
    client.command(&path, &PinNodes { nodes }).await?;
    let group = escape_control(&pins.group);
    match command {
        "pin" => say!("Pinned {count} to {group}"),
        _ => say!("Unpinned {count} from {group}"),
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn unpin_from_all(nodes: &[String], client: &ApiClient) -> VerbResult {
    let nodes = targets::parse_all(nodes)?;
    let path = ["classifier-api", "v1", "commands", "unpin-from-all"];
    let done: UnpinnedNodes = client.post(&path, &PinNodes { nodes }).await?;
    for node in &done.nodes {
        let groups = node.groups.iter().map(|group| escape_control(&group.name));
        let groups: Vec<_> = groups.collect();
        let told = match groups.is_empty() {
            true => "was pinned nowhere".to_owned(),
            false => format!("unpinned from {}", groups.join(", ")),
        };
        say!("{}  {told}", escaped_name(&node.name));
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn explain(typed: &str, shown: OutputOptions, client: &ApiClient) -> VerbResult {
    let nodes = targets::nodes(client, typed).await?;
    let [node] = nodes.as_slice() else {
        return usage(format!("name one node: {typed} stands for {}", nodes.len()));
    };
    let path = ["classifier-api", "v1", "classified", "nodes", node];
    let known = ClassifyNode::default();
    if shown.format == OutputFormat::Json {
        let path = client::route(path, ["explanation"]);
        let told: ClassificationExplanation = client.post(&path, &known).await?;
        return shown.format.present(&told, |_| ());
    }
    let groups = find::fetch_groups(client).await?;
    let told: Classified = client.post(&path, &known).await?;
    let name = |id: &String| escape_control(find::name_of(&groups, id));
    let in_groups: Vec<_> = told.groups.iter().map(name).collect();
    Fields::default()
        .value("node", escaped_name(node))
        .text("environment", &told.environment)
        .value("groups", in_groups.join(", "))
        .print();
    let value = |value: &Value| escape_control(&value.to_string());
    print_part("Classes", &json!(told.classes), value);
    print_part("Variables", &json!(told.parameters), value);
    Ok(EXIT_SUCCESS)
}
