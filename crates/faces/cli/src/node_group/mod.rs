//! `tutti node-group …`: the groups of the classifier. Main type: [`Verb`].

pub(crate) mod find;
mod nodes;
mod parts;
mod read;
mod write;

use crate::Failure;
use crate::client::Client;
use crate::settings::Connection;

/// What can be done with node groups.
#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    /// List the groups as the tree that they are
    #[command(after_long_help = "Examples:
  tutti node-group list
  tutti node-group list --format json > groups.json")]
    List(read::List),
    /// Show one group: its rule, its classes, its variables
    #[command(after_long_help = "Example:\n  tutti node-group show 'Web servers'")]
    Show(read::Show),
    /// Make a group
    #[command(after_long_help = "Examples:
  tutti node-group create 'Web servers' --rule '[\"~\", \"name\", \"^web\"]' \\
    --class 'nginx={\"workers\": 4}' --class ntp
  tutti node-group create 'Test environment' --parent 'All Environments' \\
    --environment test --environment-trumps --rule @rule.json")]
    Create(write::Create),
    /// Change a group; what is not named stays
    #[command(after_long_help = "Examples:
  tutti node-group edit 'Web servers' --class 'nginx={\"workers\": 8}'
  tutti node-group edit 'Web servers' --no-class ntp --no-rule")]
    Edit(write::Edit),
    /// Delete a group that has no groups below it
    #[command(after_long_help = "Example:\n  tutti node-group delete 'Web servers'")]
    Delete(write::One),
    /// Put nodes into a group, whatever its rule says
    #[command(after_long_help = "Examples:
  tutti node-group pin 'Web servers' web9.example.com
  tutti node-group pin 'Web servers' @nodes.txt")]
    Pin(nodes::Pins),
    /// Take nodes that are pinned out of a group
    #[command(after_long_help = "Example:
  tutti node-group unpin 'Web servers' web9.example.com")]
    Unpin(nodes::Pins),
    /// Take nodes out of every group that they are pinned to
    #[command(after_long_help = "Example:\n  tutti node-group unpin-from-all web9.example.com")]
    UnpinFromAll(nodes::Nodes),
    /// Show a group's rule in several forms: its own, with those above, as queries
    #[command(after_long_help = "Example:\n  tutti node-group rules 'Web servers'")]
    Rules(read::Show),
    /// Show which groups a node is in, and what it gets from which
    #[command(after_long_help = "Example:\n  tutti node-group explain web1.example.com")]
    Explain(nodes::Explain),
    /// Replace all groups by those of a file, as Puppet Enterprise's classifier dumps them
    #[command(after_long_help = "Example:
  curl … https://pe.example.com:4433/classifier-api/v1/groups > groups.json
  tutti node-group import groups.json")]
    Import(write::Import),
}

pub(crate) async fn run(verb: Verb, connection: &Connection) -> Result<u8, Failure> {
    let client = Client::with_token(connection)?;
    match verb {
        Verb::List(options) => read::list(&options, &client).await,
        Verb::Show(options) => read::show(&options, &client).await,
        Verb::Create(options) => write::create(options, &client).await,
        Verb::Edit(options) => write::edit(options, &client).await,
        Verb::Delete(one) => write::delete(&one, &client).await,
        Verb::Pin(pins) => nodes::pin(&pins, "pin", &client).await,
        Verb::Unpin(pins) => nodes::pin(&pins, "unpin", &client).await,
        Verb::UnpinFromAll(nodes) => nodes::unpin_from_all(&nodes, &client).await,
        Verb::Rules(options) => read::rules(&options, &client).await,
        Verb::Explain(options) => nodes::explain(&options, &client).await,
        Verb::Import(options) => write::import(&options, &client).await,
    }
}
