//! Which nodes a command is for. Main types: [`Targets`] for jobs, [`Names`] for everything else.

use std::io::Read as _;
use std::path::Path;

use api_types::{InventoryItem, InventoryList, Scope};
use serde_json::Value;

use crate::client::Client;
use crate::defaults::FILE_BYTES;
use crate::input::read_limited;
use crate::{Failure, node_group, terminal};

/// Exactly one of the two.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Names {
    /// Certnames, separated by commas; or @FILE with one on each line (@- is stdin)
    #[arg(long, short = 'n', value_name = "NODES")]
    nodes: Option<String>,
    /// Every node that is connected now
    #[arg(long)]
    all: bool,
}

/// Exactly one of them.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Targets {
    /// Certnames, separated by commas; or @FILE with one on each line (@- is stdin)
    #[arg(long, short = 'n', value_name = "NODES")]
    nodes: Option<String>,
    /// The nodes that a query finds: PQL or AST, or @FILE with it
    #[arg(long, short = 'q', value_name = "QUERY")]
    query: Option<String>,
    /// The nodes of a node group: its UUID or its name
    #[arg(long, value_name = "GROUP")]
    node_group: Option<String>,
    /// Every node that is connected, or that was before the server restarted and is expected back
    #[arg(long)]
    all: bool,
    /// The nodes of an application
    #[arg(long, short = 'a', value_name = "APPLICATION", hide = true)]
    application: Option<String>,
}

// === impl Names ===

impl Names {
    pub(crate) async fn resolve(&self, client: &Client) -> Result<Vec<String>, Failure> {
        if self.all {
            return connected(client).await;
        }
        parse(self.nodes.as_deref().unwrap_or_default())
    }
}

// === impl Targets ===

impl Targets {
    /// As commands have it. A query and a group are the server's to resolve.
    pub(crate) async fn scope(&self, client: &Client) -> Result<Scope, Failure> {
        if let Some(query) = &self.query {
            let query = Some(query_value(query)?);
            return Ok(Scope {
                query,
                ..Scope::default()
            });
        }
        if let Some(group) = &self.node_group {
            let node_group = Some(node_group::find::id(client, group).await?);
            return Ok(Scope {
                node_group,
                ..Scope::default()
            });
        }
        if let Some(application) = &self.application {
            let application = Some(application.clone());
            return Ok(Scope {
                application,
                ..Scope::default()
            });
        }
        if !self.all {
            return Ok(Scope::nodes(parse(
                self.nodes.as_deref().unwrap_or_default(),
            )?));
        }
        let nodes = connected_or_returning(client).await?;
        if nodes.is_empty() {
            let what = "no node is connected; see `tutti node list`";
            return Err(Failure::Usage(what.to_owned()));
        }
        Ok(Scope::nodes(nodes))
    }

    /// For the line that announces a job.
    pub(crate) fn told(&self, scope: &Scope) -> String {
        match (&scope.nodes, &self.query, &self.node_group) {
            (Some(nodes), ..) if nodes.len() == 1 => "1 node".to_owned(),
            (Some(nodes), ..) => format!("{} nodes", nodes.len()),
            (_, Some(_), _) => "the nodes of a query".to_owned(),
            (.., Some(group)) => format!("node group {}", terminal::harmless(group)),
            _ => "an application".to_owned(),
        }
    }
}

/// Every node that is connected now.
async fn connected(client: &Client) -> Result<Vec<String>, Failure> {
    Ok(connected_names(inventory(client).await?.items))
}

/// Every node that is connected now, and those that are expected back after a restart of the server: new
/// jobs wait for them.
pub(crate) async fn connected_or_returning(client: &Client) -> Result<Vec<String>, Failure> {
    let InventoryList { items, returning } = inventory(client).await?;
    let mut nodes = connected_names(items);
    nodes.extend(returning);
    nodes.sort_unstable();
    Ok(nodes)
}

async fn inventory(client: &Client) -> Result<InventoryList, Failure> {
    client.get(&["orchestrator", "v1", "inventory"], &[]).await
}

fn connected_names(items: Vec<InventoryItem>) -> Vec<String> {
    let connected = items.into_iter().filter(|item| item.connected);
    connected.map(|item| item.name).collect()
}

/// PQL is a text, an AST is an array; both may come from a file.
pub(crate) fn query_value(text: &str) -> Result<Value, Failure> {
    let (place, text) = match text.strip_prefix('@') {
        Some("-") => ("standard input".to_owned(), read_stdin()?),
        Some(path) => (path.to_owned(), read_limited(Path::new(path))?),
        None => ("--query".to_owned(), text.to_owned()),
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::Usage(format!("there is no query in {place}")));
    }
    if !text.starts_with('[') {
        return Ok(Value::String(text.to_owned()));
    }
    decode_errors::json::from_str(text).map_err(|error| Failure::Content {
        place,
        what: format!("it begins with [ and is no JSON array: {error}"),
    })
}

/// `a,b` or `@FILE`.
pub(crate) fn parse(text: &str) -> Result<Vec<String>, Failure> {
    let names = match text.strip_prefix('@') {
        Some("-") => split(&read_stdin()?),
        Some(path) => split(&read_limited(Path::new(path))?),
        None => split(text),
    };
    if names.is_empty() {
        return Err(Failure::Usage(format!("--nodes `{text}` names no node")));
    }
    Ok(names)
}

fn split(text: &str) -> Vec<String> {
    let names = text.split([',', '\n']).map(str::trim);
    names
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

pub(crate) fn read_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin()
        .lock()
        .take(FILE_BYTES)
        .read_to_string(&mut text);
    read.map_err(|source| Failure::Read {
        path: "standard input".into(),
        source,
    })?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_blanks_lines_and_comments() {
        assert_eq!(split("a, b,\nc\n# no\n\n"), ["a", "b", "c"]);
    }

    #[test]
    fn a_query_is_text_or_an_array() {
        assert_eq!(query_value(" nodes{} ").unwrap(), Value::from("nodes{}"));
        let ast = serde_json::json!(["from", "nodes"]);
        assert_eq!(query_value(&ast.to_string()).unwrap(), ast);
        for bad in [
            "",
            "  ",
            "[\"from\"",
            "[\"from\" x]",
            "[] x",
            "@/nonexistent",
        ] {
            let message = query_value(bad).unwrap_err().to_string();
            let wording = decode_errors::LIBRARY_WORDING;
            assert!(
                !wording.iter().any(|part| message.contains(part)),
                "{message}"
            );
        }
    }

    #[test]
    fn nothing_is_refused() {
        assert!(
            parse(" , ")
                .unwrap_err()
                .to_string()
                .contains("names no node")
        );
    }

    #[test]
    fn a_file_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nodes");
        std::fs::write(&path, "x\ny\n").unwrap();
        assert_eq!(parse(&format!("@{}", path.display())).unwrap(), ["x", "y"]);
    }
}
