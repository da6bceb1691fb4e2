//! `tutti node-group …`: the groups of the classifier. Main type: [`NodeGroupVerb`].

pub(crate) mod find;
mod nodes;
mod read;
mod rule_arguments;
mod write;

use std::path::PathBuf;

use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;

/// Verbs of `tutti node-group`.
#[derive(Debug, clap::Subcommand)]
pub enum NodeGroupVerb {
    /// List the groups as a tree
    #[command(after_long_help = "Examples:
  tutti node-group list
  tutti node-group list --format json > groups.json")]
    List {
        /// Show the ids of the groups
        #[arg(long)]
        ids: bool,
        #[command(flatten)]
        shown: OutputOptions,
    },
    /// Show one group: its rule, its classes, its variables
    #[command(after_long_help = "Example:\n  tutti node-group show 'Web servers'")]
    Show(read::ShowOptions),
    /// Create a group
    #[command(after_long_help = "Examples:
  tutti node-group create 'Web servers' --rule '[\"~\", \"name\", \"^web\"]' \\
    --class 'nginx={\"workers\": 4}' --class ntp
  tutti node-group create 'Test environment' --parent 'All Environments' \\
    --environment test --environment-trumps --rule @rule.json")]
    Create(write::CreateOptions),
    /// Change a group; parts that are not named stay
    #[command(after_long_help = "Examples:
  tutti node-group edit 'Web servers' --class 'nginx={\"workers\": 8}'
  tutti node-group edit 'Web servers' --no-class ntp --no-rule")]
    Edit(write::EditOptions),
    /// Delete a group that has no child groups
    #[command(after_long_help = "Example:\n  tutti node-group delete 'Web servers'")]
    Delete {
        /// Name or id of the group
        group: String,
    },
    /// Pin nodes to a group, whatever its rule
    #[command(after_long_help = "Examples:
  tutti node-group pin 'Web servers' web9.example.com
  tutti node-group pin 'Web servers' @nodes.txt")]
    Pin(nodes::PinOptions),
    /// Unpin nodes from a group
    #[command(after_long_help = "Example:
  tutti node-group unpin 'Web servers' web9.example.com")]
    Unpin(nodes::PinOptions),
    /// Unpin nodes from all groups
    #[command(after_long_help = "Example:\n  tutti node-group unpin-from-all web9.example.com")]
    UnpinFromAll {
        /// Certnames, or @FILE with one on each line (@- is stdin)
        #[arg(required = true)]
        nodes: Vec<String>,
    },
    /// Show a group's rule in several forms: its own, with those of its parents, as queries
    #[command(after_long_help = "Example:\n  tutti node-group rules 'Web servers'")]
    Rules(read::ShowOptions),
    /// Show the groups of a node, and what it gets from each
    #[command(after_long_help = "Example:\n  tutti node-group explain web1.example.com")]
    Explain {
        /// Certname of the node
        node: String,
        #[command(flatten)]
        shown: OutputOptions,
    },
    /// Replace all groups by those of a file in the format of Puppet Enterprise's classifier
    #[command(after_long_help = "Example:
  curl … https://pe.example.com:4433/classifier-api/v1/groups > groups.json
  tutti node-group import groups.json")]
    Import {
        /// File with an array of groups
        file: PathBuf,
    },
}

pub(crate) async fn run(verb: NodeGroupVerb, client: &ApiClient) -> VerbResult {
    match verb {
        NodeGroupVerb::List { ids, shown } => read::list(ids, shown.format, client).await,
        NodeGroupVerb::Show(options) => read::show(&options, client).await,
        NodeGroupVerb::Create(options) => write::create(options, client).await,
        NodeGroupVerb::Edit(options) => write::edit(options, client).await,
        NodeGroupVerb::Delete { group } => write::delete(&group, client).await,
        NodeGroupVerb::Pin(pins) => nodes::pin(&pins, "pin", client).await,
        NodeGroupVerb::Unpin(pins) => nodes::pin(&pins, "unpin", client).await,
        NodeGroupVerb::UnpinFromAll { nodes } => nodes::unpin_from_all(&nodes, client).await,
        NodeGroupVerb::Rules(options) => read::rules(&options, client).await,
        NodeGroupVerb::Explain { node, shown } => nodes::explain(&node, shown, client).await,
        NodeGroupVerb::Import { file } => write::import(&file, client).await,
    }
}
