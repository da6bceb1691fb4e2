//! The nodes that a command runs on. Main types: [`TargetOptions`] for jobs, [`NodeNames`] for
//! everything else.

use std::io::Read as _;
use std::path::Path;

use api_types::kinds::UNKNOWN_NODE;
use api_types::{InventoryItem, InventoryList, NodeSelection, NodeSelectionQuery, Scope};
use serde_json::Value;

use crate::client::ApiClient;
use crate::defaults::FILE_BYTES;
use crate::failure::usage;
use crate::input::{read_limited, text_or_file};
use crate::job::requests::{fetch_job, nodes_in};
use crate::terminal::escape_control;
use crate::{CommandFailure, Result, node_group};

/// The word that stands for every connected node.
const ALL: &str = "all";

/// States of nodes on which a job did not succeed.
const FAILED: [&str; 3] = ["failed", "errored", "skipped"];

/// States of nodes on which a job did not run.
const UNREACHED: [&str; 2] = ["errored", "skipped"];

/// States of a job that is over.
const JOB_OVER: [&str; 3] = ["finished", "failed", "stopped"];

/// Names of nodes: exactly one of the two options.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct NodeNames {
    /// Nodes, separated by commas: certnames, short names, globs such as 'web*', regular
    /// expressions such as '/^web[0-9]/'; or all; or @FILE with one on each line (- is stdin)
    #[arg(
        long,
        short = 'n',
        visible_alias = "targets",
        visible_short_alias = 't',
        value_name = "NODES"
    )]
    nodes: Option<String>,
    /// All nodes that are connected now
    #[arg(long)]
    all: bool,
}

/// Targets of a job: exactly one of the options.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct TargetOptions {
    /// Nodes, separated by commas: certnames, short names, globs such as 'web*', regular expressions such as
    /// '/^web[0-9]/'; or all; or @FILE with one on each line (- is stdin)
    #[arg(
        long,
        short = 'n',
        visible_alias = "targets",
        visible_short_alias = 't',
        value_name = "NODES"
    )]
    nodes: Option<String>,
    /// Nodes from a query: PQL or AST, or @FILE that contains it
    #[arg(long, short = 'q', value_name = "QUERY")]
    query: Option<String>,
    /// Nodes of a node group: its UUID or its name
    #[arg(long, value_name = "GROUP")]
    node_group: Option<String>,
    /// All connected nodes, and those expected back after a restart of the server
    #[arg(long)]
    all: bool,
    /// Nodes on which a job did not succeed: failed, errored or skipped
    #[arg(long, value_name = "JOB")]
    failed_of: Option<String>,
    /// Nodes on which a job did not run: errored (not connected, …) or skipped
    #[arg(long, value_name = "JOB")]
    unreached_of: Option<String>,
    /// Nodes of an application such as Lamp, or of an instance such as 'Lamp[app1]'; with --environment
    #[arg(long, short = 'a', value_name = "APPLICATION")]
    application: Option<String>,
}

// === impl NodeNames ===

impl NodeNames {
    pub(crate) async fn resolve(&self, client: &ApiClient) -> Result<Vec<String>> {
        let typed = self.nodes.as_deref().unwrap_or_default();
        if self.all || typed == ALL {
            return connected_nodes(client).await;
        }
        resolve_selectors(client, parse(typed)?).await
    }
}

// === impl TargetOptions ===

impl TargetOptions {
    /// The scope in the API's form. A query and a group are resolved by the server.
    pub(crate) async fn scope(&self, client: &ApiClient) -> Result<Scope> {
        let mut scope = Scope::default();
        if let Some(query) = &self.query {
            scope.query = Some(query_value(query)?);
        } else if let Some(group) = &self.node_group {
            scope.node_group = Some(node_group::find::resolve_id(client, group).await?);
        } else if let Some(application) = &self.application {
            scope.application = Some(application.clone());
        } else if let Some(job) = &self.failed_of {
            scope.nodes = Some(nodes_of(client, job, &FAILED).await?);
        } else if let Some(job) = &self.unreached_of {
            scope.nodes = Some(nodes_of(client, job, &UNREACHED).await?);
        } else {
            let typed = match self.all {
                true => ALL,
                false => self.nodes.as_deref().unwrap_or_default(),
            };
            scope.nodes = Some(nodes(client, typed).await?);
        }
        Ok(scope)
    }

    /// The job whose failed or unreached nodes are selected.
    pub(crate) fn earlier_job(&self) -> Option<&str> {
        self.failed_of.as_deref().or(self.unreached_of.as_deref())
    }

    /// The targets, for the line that announces a job.
    pub(crate) fn describe_targets(&self, scope: &Scope) -> String {
        match (&scope.nodes, &self.query, &self.node_group) {
            (Some(nodes), ..) if nodes.len() == 1 => "1 node".to_owned(),
            (Some(nodes), ..) => format!("{} nodes", nodes.len()),
            (_, Some(_), _) => "the nodes of a query".to_owned(),
            (.., Some(group)) => format!("node group {}", escape_control(group)),
            _ => {
                let application = scope.application.as_deref().unwrap_or_default();
                format!("the nodes of {}", escape_control(application))
            }
        }
    }
}

/// The nodes of an ended job that are in one of these states.
async fn nodes_of(client: &ApiClient, job: &str, states: &[&str]) -> Result<Vec<String>> {
    let told = fetch_job(client, job).await?;
    let number = escape_control(&told.name);
    if !JOB_OVER.contains(&told.state.as_str()) {
        let state = escape_control(&told.state);
        return usage(format!(
            "job {number} is {state} and not over; wait for it with `tutti job show {number} --follow`"
        ));
    }
    let mut names = Vec::new();
    for state in states {
        let nodes = nodes_in(client, job, Some(state)).await?;
        names.extend(nodes.into_iter().map(|node| node.name));
    }
    if names.is_empty() {
        return usage(format!(
            "job {number} has no node that is {}; nothing is left to run again (`tutti job show {number}`)",
            states.join(" or ")
        ));
    }
    Ok(names)
}

/// The certnames that `-n` selects.
pub(crate) async fn nodes(client: &ApiClient, typed: &str) -> Result<Vec<String>> {
    if typed != ALL {
        return resolve_selectors(client, parse(typed)?).await;
    }
    let nodes = connected_or_returning(client).await?;
    if nodes.is_empty() {
        return usage("no node is connected; see `tutti node list`");
    }
    Ok(nodes)
}

/// The certnames that selectors such as `web*` mean, also of nodes that are not connected.
pub(crate) async fn nodes_of_inventory(client: &ApiClient, typed: &str) -> Result<Vec<String>> {
    resolve_selectors(client, parse(typed)?).await
}

/// Resolves names on the server. Full certnames are used as typed if the user may not see nodes,
/// since a list of names needs no such permission.
async fn resolve_selectors(client: &ApiClient, typed: Vec<String>) -> Result<Vec<String>> {
    let query = NodeSelectionQuery { nodes: typed };
    let path = ["orchestrator", "v1", "selected_nodes"];
    let selection: Result<NodeSelection> = client.post(&path, &query).await;
    match selection {
        Ok(selection) => Ok(selection.nodes),
        Err(CommandFailure::Refused { kind, .. })
            if kind != UNKNOWN_NODE.name && !query.nodes.iter().any(|text| is_pattern(text)) =>
        {
            Ok(query.nodes)
        }
        Err(failure) => Err(failure),
    }
}

/// The certname of the one node that was typed.
pub(crate) async fn resolve_one_node(client: &ApiClient, typed: &str) -> Result<String> {
    let mut nodes = resolve_selectors(client, vec![typed.to_owned()]).await?;
    match (nodes.pop(), nodes.len()) {
        (Some(node), 0) => Ok(node),
        (_, others) => usage(format!("`{typed}` means {} nodes; name one", others + 1)),
    }
}

/// True for globs and for regular expressions between slashes.
fn is_pattern(text: &str) -> bool {
    text.starts_with('/') || text.contains(['*', '?', '['])
}

/// All nodes that are connected now.
async fn connected_nodes(client: &ApiClient) -> Result<Vec<String>> {
    Ok(connected_names(inventory(client).await?.items))
}

/// All nodes that are connected now, and those that are expected back after a restart of the
/// server: new jobs wait for them.
pub(crate) async fn connected_or_returning(client: &ApiClient) -> Result<Vec<String>> {
    let InventoryList { items, returning } = inventory(client).await?;
    let mut nodes = connected_names(items);
    nodes.extend(returning);
    nodes.sort_unstable();
    Ok(nodes)
}

async fn inventory(client: &ApiClient) -> Result<InventoryList> {
    client.get(&["orchestrator", "v1", "inventory"], &[]).await
}

fn connected_names(items: Vec<InventoryItem>) -> Vec<String> {
    let connected = items.into_iter().filter(|item| item.connected);
    connected.map(|item| item.name).collect()
}

/// Parses a query: PQL is text, an AST is an array; both may come from a file.
pub(crate) fn query_value(text: &str) -> Result<Value> {
    let (place, text) = match text.strip_prefix('@') {
        Some("-") => ("standard input".to_owned(), read_stdin()?),
        _ => text_or_file("--query", text)?,
    };
    let text = text.trim();
    if text.is_empty() {
        return usage(format!("there is no query in {place}"));
    }
    if !text.starts_with('[') {
        return Ok(Value::String(text.to_owned()));
    }
    decode_errors::json::from_str(text).map_err(|error| {
        CommandFailure::content(
            place,
            format!("it begins with [ and is no JSON array: {error}"),
        )
    })
}

/// Parses `a,b`, `@FILE`, or `-` for standard input, as Bolt does.
pub(crate) fn parse(text: &str) -> Result<Vec<String>> {
    let names = match text.strip_prefix('@') {
        Some("-") => split(&read_stdin()?),
        Some(path) => split(&read_limited(Path::new(path))?),
        None if text == "-" => split(&read_stdin()?),
        None => split(text),
    };
    if names.is_empty() {
        return usage(format!(
            "--nodes `{text}` names no node; write certnames with commas between them, a pattern such as 'web*', or all"
        ));
    }
    Ok(names)
}

/// Parses several such arguments.
pub(crate) fn parse_all(texts: &[String]) -> Result<Vec<String>> {
    let names: Result<Vec<_>, _> = texts.iter().map(|text| parse(text)).collect();
    Ok(names?.concat())
}

/// The items between commas and line ends; a comma within a regular expression belongs to it.
fn split(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let is_comment = |line: &str| line.trim_start().starts_with('#');
    for line in text.lines().filter(|line| !is_comment(line)) {
        let mut rest = line;
        while !rest.is_empty() {
            let end = find_expression_end(rest).unwrap_or(0);
            let end = rest
                .get(end..)
                .and_then(|tail| tail.find(','))
                .map_or(rest.len(), |at| end + at);
            let (item, after) = rest.split_at(end);
            rest = after.strip_prefix(',').unwrap_or(after);
            items.extend(Some(item.trim().to_owned()).filter(|item| !item.is_empty()));
        }
    }
    items
}

/// The byte after the closing slash of a regular expression, if one starts here and ends before a
/// comma.
fn find_expression_end(text: &str) -> Option<usize> {
    let blanks = text.len() - text.trim_start().len();
    let rest = text.trim_start().strip_prefix('/')?;
    let is_end = |at: &usize| {
        let after = rest.get(at + 1..).unwrap_or_default().trim_start();
        after.is_empty() || after.starts_with(',')
    };
    let mut slashes = rest.match_indices('/').map(|(at, _)| at);
    slashes.find(is_end).map(|at| blanks + 1 + at + 1)
}

pub(crate) fn read_stdin() -> Result<String> {
    let mut text = String::new();
    let read = std::io::stdin()
        .lock()
        .take(FILE_BYTES)
        .read_to_string(&mut text);
    read.map_err(CommandFailure::read("standard input"))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_blanks_lines_and_comments() {
        assert_eq!(split("a, b,\nc\n# no\n\n"), ["a", "b", "c"]);
        assert_eq!(split("a,#b\r\nc"), ["a", "#b", "c"]);
    }

    #[test]
    fn a_comma_within_an_expression_belongs_to_it() {
        assert_eq!(split("/web[0-9]{1,2}/,db*"), ["/web[0-9]{1,2}/", "db*"]);
        assert_eq!(split(" /a,b/ , /c/d,e/"), ["/a,b/", "/c/d,e/"]);
        assert_eq!(split("/a,b"), ["/a", "b"]);
        assert_eq!(split("/é,ü/,x"), ["/é,ü/", "x"]);
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
