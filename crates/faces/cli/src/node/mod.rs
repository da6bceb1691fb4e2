//! `tutti node …`. Main type: [`NodeVerb`].

mod leases;
mod list;
mod parts;
mod ping;
mod purge;
mod show;

use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;

/// Verbs of `tutti node`.
#[derive(Debug, clap::Subcommand)]
pub enum NodeVerb {
    /// List the connected nodes
    #[command(after_long_help = "Example:\n  tutti node list")]
    List(OutputOptions),
    /// Show a node: its connection or the reason why it has none, its agent, groups, last Puppet run,
    /// facts and last jobs
    #[command(after_long_help = "Examples:
  tutti node show web1.example.com
  tutti node show web1 --facts")]
    Show(show::Options),
    /// Ping agents through the broker, and measure the time
    #[command(
        after_long_help = "Examples:\n  tutti node ping --nodes web1.example.com\n  tutti node ping --all"
    )]
    Ping(ping::Options),
    /// Show which nodes a job keeps from running Puppet by themselves, and which are in quarantine
    #[command(
        after_long_help = "Examples:\n  tutti node leases --nodes web1.example.com\n  tutti node leases --all"
    )]
    Leases(leases::LeaseOptions),
    /// Let nodes run Puppet by themselves again: end their quarantine, or the lease of a job
    #[command(after_long_help = "Examples:
  tutti node release --nodes web1.example.com
  tutti node release --all --yes

A job that has the lease goes on without it. A run that an administrator disabled on the node stays disabled.")]
    Release(leases::ReleaseOptions),
    /// Remove nodes that are gone: revoke and delete the certificate, delete facts, reports, catalogs and
    /// exported resources, and deactivate the node in PuppetDB
    #[command(after_long_help = "Examples:
  tutti node purge web1.example.com
  tutti node purge web1.example.com web2.example.com --yes
  tutti node purge web1.example.com --only-deactivate

The command can be repeated if it was interrupted. Groups keep the pins of the node, and its connection
over SSH stays.")]
    Purge(purge::Options),
}

pub(crate) async fn run(verb: NodeVerb, client: &ApiClient) -> VerbResult {
    match verb {
        NodeVerb::List(shown) => list::run(shown.format, client).await,
        NodeVerb::Show(options) => show::run(&options, client).await,
        NodeVerb::Ping(options) => ping::run(&options, client).await,
        NodeVerb::Leases(options) => leases::list(&options, client).await,
        NodeVerb::Release(options) => leases::release(&options, client).await,
        NodeVerb::Purge(options) => purge::run(&options, client).await,
    }
}
