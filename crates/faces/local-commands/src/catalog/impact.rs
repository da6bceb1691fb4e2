//! `tutti catalog impact`: changes of all nodes' catalogs between two directories of code.

use std::ops::ControlFlow;
use std::path::PathBuf;

use api_types::{CodeImpactGroup, CodeImpactReply};
use catalogs::{ChangeGroup, ChangeGroups, NodeOutcome, compare_nodes};

use super::node::NodeOptions;
use super::node_facts::{FactsDirectory, compared_nodes, worker_number};
use cli::impact_groups::print_impact;
use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat};

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
    let reply = CodeImpactReply {
        equal: groups.equal,
        groups: groups.sorted().into_iter().map(impact_group).collect(),
        ..CodeImpactReply::default()
    };
    if !options.format.print_json(&reply) {
        print_impact(&reply.groups, reply.equal, certnames.len());
    }
    Ok(match reply.groups.is_empty() {
        true => EXIT_SUCCESS,
        false => EXIT_NODES_FAILED,
    })
}

fn impact_group(group: ChangeGroup) -> CodeImpactGroup {
    CodeImpactGroup {
        error: group.is_error,
        changes: group.changes,
        nodes: group.nodes,
    }
}
