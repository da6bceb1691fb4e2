//! `tutti catalog impact`: changes of all nodes' catalogs between two directories of code.

use std::ops::ControlFlow;
use std::path::PathBuf;

use catalogs::{ChangeGroup, ChangeGroups, NodeOutcome, compare_nodes};
use serde_json::{Value as Json, json};

use super::node::NodeOptions;
use super::node_facts::{FactsDirectory, compared_nodes, node_number, worker_number};
use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, say, terminal};

/// Arguments of `tutti catalog impact`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti catalog impact --code-dir . --other-code-dir ../changed --facts-dir facts
  tutti catalog impact web1.example.com web2.example.com --code-dir . --other-code-dir ../changed \
--facts-dir facts
  tutti catalog impact --environment production --other-code-dir ~/control --facts-dir facts --format \
json

Nodes with the same changed resources and attributes are one group; the values may differ, and \
`tutti catalog diff` shows them for one node. Nodes that can be compiled with one directory only come \
first.

Exit codes: 0 all catalogs are equal; 1 some differ, or cannot be compiled with one of the directories; \
2 the command was used wrongly or a file cannot be read.")]
pub struct ImpactOptions {
    /// Certnames; all nodes of --facts-dir by default
    #[arg(value_name = "NODE")]
    certnames: Vec<String>,
    /// Directory of the environment with the change
    #[arg(long, value_name = "DIR")]
    other_code_dir: PathBuf,
    /// Directory with the facts of each node in NODE.json or NODE.yaml
    #[arg(long, value_name = "DIR", conflicts_with = "facts")]
    facts_dir: PathBuf,
    #[command(flatten)]
    node: NodeOptions,
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) fn run(options: &ImpactOptions) -> Result<u8, CommandFailure> {
    let certnames = compared_nodes(&options.certnames, Some(&options.facts_dir))?;
    let before = options.node.compiler(None)?;
    let after = options.node.compiler(Some(&options.other_code_dir))?;
    let mut groups = ChangeGroups::default();
    let compare = |certname: &str| {
        let facts = FactsDirectory(&options.facts_dir).file(certname)?;
        let request = options.node.request_with_facts(certname, Some(&facts))?;
        let (before, after) = (before.outcome(request.clone()), after.outcome(request));
        Ok(NodeOutcome::of(&before, &after))
    };
    compare_nodes(&certnames, worker_number(), compare, |index, outcome| {
        groups.add(index, &certnames[index], &outcome);
        ControlFlow::Continue(())
    })?;
    let sorted = groups.sorted();
    if !options.format.print_json(&document(groups.equal, &sorted)) {
        sorted.iter().for_each(print);
        say!(
            "{}",
            terminal::style_dim(format!(
                "{} of {} nodes have equal catalogs",
                groups.equal,
                certnames.len()
            ))
        );
    }
    Ok(match sorted.is_empty() {
        true => EXIT_SUCCESS,
        false => EXIT_NODES_FAILED,
    })
}

fn document(equal: usize, groups: &[ChangeGroup]) -> Json {
    let groups: Vec<Json> = groups
        .iter()
        .map(|group| json!({"error": group.is_error, "changes": group.changes, "nodes": group.nodes}))
        .collect();
    json!({"equal": equal, "groups": groups})
}

fn print(group: &ChangeGroup) {
    say!("{}", terminal::escaped_heading(&heading(group)));
    for change in &group.changes {
        let line = format!("  {}", terminal::escape_control(change));
        match change.get(..1) {
            _ if group.is_error => say!("{}", terminal::style_failure(line)),
            Some("-") => say!("{}", terminal::style_failure(line)),
            Some("+") => say!("{}", terminal::style_success(line)),
            _ => say!("{line}"),
        }
    }
}

fn heading(group: &ChangeGroup) -> String {
    let number = node_number(group.nodes.len());
    format!("{number}: {}", group.nodes.join(", "))
}
