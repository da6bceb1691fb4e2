//! `tutti node-group pin`, `unpin`, `unpin-from-all` and `explain`.

use api_types::classifier::{
    ClassificationExplanation, Classified, ClassifyNode, PinNodes, UnpinnedNodes,
};
use reqwest::Method;
use serde_json::Value;

use super::find;
use crate::client::ApiClient;
use crate::output::{OutputOptions, json};
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, table, targets};

/// Arguments of `tutti node-group pin` and `unpin`.
#[derive(Debug, clap::Args)]
pub struct PinOptions {
    /// Name or id of the group
    group: String,
    /// Certnames, or @FILE with one on each line (@- is stdin)
    #[arg(required = true)]
    nodes: Vec<String>,
}

/// Arguments of `tutti node-group unpin-from-all`.
#[derive(Debug, clap::Args)]
pub struct UnpinFromAllOptions {
    /// Certnames, or @FILE with one on each line (@- is stdin)
    #[arg(required = true)]
    nodes: Vec<String>,
}

/// Arguments of `tutti node-group explain`.
#[derive(Debug, clap::Args)]
pub struct ExplainOptions {
    /// Certname of the node
    node: String,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Pins or unpins nodes; `command` is `pin` or `unpin`.
pub(super) async fn pin(
    pins: &PinOptions,
    command: &str,
    client: &ApiClient,
) -> Result<u8, CommandFailure> {
    let nodes = names(&pins.nodes)?;
    let id = find::resolve_id(client, &pins.group).await?;
    let count = nodes.len();
    let [service, version, groups] = find::GROUPS;
    let path = [service, version, groups, id.as_str(), command];
    client
        .send_without_content(Method::POST, &path, &PinNodes { nodes })
        .await?;
    let plural = if count == 1 { "node" } else { "nodes" };
    let group = escape_control(&pins.group);
    match command {
        "pin" => say!("Pinned {count} {plural} to {group}"),
        _ => say!("Unpinned {count} {plural} from {group}"),
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn unpin_from_all(
    options: &UnpinFromAllOptions,
    client: &ApiClient,
) -> Result<u8, CommandFailure> {
    let nodes = names(&options.nodes)?;
    let path = ["classifier-api", "v1", "commands", "unpin-from-all"];
    let done: UnpinnedNodes = client.post(&path, &PinNodes { nodes }).await?;
    for node in &done.nodes {
        let groups: Vec<_> = node
            .groups
            .iter()
            .map(|group| escape_control(&group.name))
            .collect();
        let told = match groups.is_empty() {
            true => "was pinned nowhere".to_owned(),
            false => format!("unpinned from {}", groups.join(", ")),
        };
        say!(
            "{}  {told}",
            terminal::style_name(escape_control(&node.name))
        );
    }
    Ok(EXIT_SUCCESS)
}

pub(super) async fn explain(
    options: &ExplainOptions,
    client: &ApiClient,
) -> Result<u8, CommandFailure> {
    let nodes = targets::nodes(client, &options.node).await?;
    let [node] = nodes.as_slice() else {
        let what = format!("name one node: {} stands for {}", options.node, nodes.len());
        return Err(CommandFailure::Usage(what));
    };
    let node = node.as_str();
    let path = ["classifier-api", "v1", "classified", "nodes", node];
    let known = ClassifyNode::default();
    if options.shown.format == OutputFormat::Json {
        let path: Vec<_> = path.into_iter().chain(["explanation"]).collect();
        let told: ClassificationExplanation = client.post(&path, &known).await?;
        json(&told);
        return Ok(EXIT_SUCCESS);
    }
    let groups = find::fetch_groups(client).await?;
    let told: Classified = client.post(&path, &known).await?;
    let name = |id: &String| {
        let group = groups.iter().find(|group| group.id == *id);
        escape_control(group.map_or(id.as_str(), |group| group.name.as_str()))
    };
    let in_groups: Vec<_> = told.groups.iter().map(name).collect();
    table::fields(&[
        ("node", terminal::style_name(escape_control(node))),
        ("environment", escape_control(&told.environment)),
        ("groups", in_groups.join(", ")),
    ]);
    let classes = serde_json::to_value(&told.classes).unwrap_or_default();
    let variables = serde_json::to_value(&told.parameters).unwrap_or_default();
    for (title, parts) in [("Classes", classes), ("Variables", variables)] {
        let Value::Object(parts) = parts else {
            continue;
        };
        if !parts.is_empty() {
            say!("\n{}", terminal::style_heading(title));
        }
        for (key, value) in &parts {
            let value = escape_control(&value.to_string());
            say!("  {}  {value}", terminal::style_name(escape_control(key)));
        }
    }
    Ok(EXIT_SUCCESS)
}

fn names(given: &[String]) -> Result<Vec<String>, CommandFailure> {
    let mut names = Vec::with_capacity(given.len());
    for given in given {
        names.extend(targets::parse(given)?);
    }
    Ok(names)
}
