//! `tutti job plan`: what `job run` would run on. Main type: [`Options`].
//!
//! The rule: nothing is started and no number is given away; the nodes are looked up just as the
//! server would.

use api_types::classifier::NodeGroupRules;
use api_types::{InventoryItem, InventoryList, PuppetDbQuery, Scope};
use serde_json::{Value, json};

use super::puppet::Where;
use crate::client::Client;
use crate::shown::{self, Shown};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, Format, node_group, table, terminal};

/// Where Puppet would run.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    place: Where,
    /// How many nodes at once
    #[arg(long, value_name = "N")]
    concurrency: Option<u32>,
    #[command(flatten)]
    shown: Shown,
}

pub(crate) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let scope = options.place.targets.scope(client).await?;
    let told = options.place.targets.told(&scope);
    let mut nodes = certnames(client, scope).await?;
    nodes.sort_unstable();
    nodes.dedup();
    let path = ["orchestrator", "v1", "inventory"];
    let known: InventoryList = client.post(&path, &json!({ "nodes": nodes })).await?;
    let (environment, enforced) = options.place.environment(client);
    if options.shown.format == Format::Json {
        shown::json(&json!({
            "environment": environment,
            "enforce_environment": enforced,
            "concurrency": options.concurrency,
            "items": known.items,
        }));
    } else {
        let environment = match environment.as_str() {
            "" => "each node's own".to_owned(),
            name if enforced => terminal::harmless(name),
            name => format!("{} (not enforced)", terminal::harmless(name)),
        };
        let limit = options.concurrency.map(|limit| limit.to_string());
        table::fields(&[
            ("environment", environment),
            ("target", told),
            (
                "at once",
                limit.unwrap_or_else(|| "the server's limit".to_owned()),
            ),
            ("nodes", known.items.len().to_string()),
        ]);
        say!("");
        table::print(
            &["NODE", "CONNECTED"],
            known.items.iter().map(row).collect(),
        );
    }
    let all = known.items.iter().all(|item| item.connected);
    Ok(if all { EXIT_SUCCESS } else { EXIT_NODES_FAILED })
}

fn row(item: &InventoryItem) -> Vec<String> {
    let connected = if item.connected {
        terminal::good("yes")
    } else {
        terminal::bad("no")
    };
    vec![terminal::name(terminal::harmless(&item.name)), connected]
}

/// The nodes of a scope, by the routes that know them.
async fn certnames(client: &Client, scope: Scope) -> Result<Vec<String>, Failure> {
    if let Some(nodes) = scope.nodes {
        return Ok(nodes);
    }
    let query = match (scope.query, scope.node_group) {
        (Some(query), _) => query,
        (None, Some(group)) => group_query(client, &group).await?,
        (None, None) => {
            return Err(Failure::Usage(
                "applications are not there yet; name nodes, a query or a node group".to_owned(),
            ));
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
        return Err(Failure::Usage(match rows.is_empty() {
            true => "no node fits".to_owned(),
            false => "the query's rows have no certname; ask for it, as in nodes[certname] { … }"
                .to_owned(),
        }));
    }
    Ok(names)
}

async fn group_query(client: &Client, group: &str) -> Result<Value, Failure> {
    let [service, version, groups] = node_group::find::GROUPS;
    let path = [service, version, groups, group, "rules"];
    let rules: NodeGroupRules = client.get(&path, &[]).await?;
    let translated = rules.translated.inventory_query_format;
    let Some(condition) = translated.filter(|query| !query.is_null()) else {
        return Err(Failure::Usage(
            "the node group has no rule of its own, or one that is no query; so it has no nodes \
             that could be asked for"
                .to_owned(),
        ));
    };
    Ok(json!([
        "from",
        "inventory",
        ["extract", ["certname"], condition]
    ]))
}
