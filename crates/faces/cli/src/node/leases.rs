//! `tutti node leases` and `tutti node release`. Main types: [`LeaseOptions`], [`ReleaseOptions`].

use api_types::{
    LeaseDetails, LeaseItem, LeaseList, LeaseQuery, ReleaseLeasesCommand, ReleaseLeasesReply,
    ReleasedLease,
};

use super::parts::post_in_parts;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::targets::NodeNames;
use crate::terminal::{
    self, escape_control, escaped_name, style_failure, style_success, style_warning,
};
use crate::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, Result, VerbResult};

/// Arguments of `tutti node leases`.
#[derive(Debug, clap::Args)]
pub struct LeaseOptions {
    #[command(flatten)]
    targets: NodeNames,
    #[command(flatten)]
    shown: OutputOptions,
}

/// Arguments of `tutti node release`.
#[derive(Debug, clap::Args)]
pub struct ReleaseOptions {
    #[command(flatten)]
    targets: NodeNames,
    /// Do not ask for confirmation, which more than one node needs
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn list(options: &LeaseOptions, client: &ApiClient) -> VerbResult {
    let nodes = options.targets.resolve(client).await?;
    let path = ["orchestrator", "v1", "leases"];
    let query = |nodes| LeaseQuery { nodes };
    let items = post_in_parts(client, &path, &nodes, query, |reply: LeaseList| reply.items);
    let reply = LeaseList {
        items: items.await?,
    };
    let format = options.shown.format;
    format.present(&reply, |reply| reply.items.iter().for_each(print_lease))?;
    let all = reply.items.iter().all(|item| item.error.is_none());
    Ok(if all { EXIT_SUCCESS } else { EXIT_NODES_FAILED })
}

pub(crate) async fn release(options: &ReleaseOptions, client: &ApiClient) -> VerbResult {
    let nodes = options.targets.resolve(client).await?;
    if nodes.len() > 1 && !options.yes && !confirm(nodes.len())? {
        say!("Nothing was changed.");
        return Ok(EXIT_NODES_FAILED);
    }
    let path = ["orchestrator", "v1", "command", "release_leases"];
    let command = |nodes| ReleaseLeasesCommand { nodes };
    let read = |reply: ReleaseLeasesReply| reply.items;
    let items = post_in_parts(client, &path, &nodes, command, read);
    let reply = ReleaseLeasesReply {
        items: items.await?,
    };
    let format = options.shown.format;
    format.present(&reply, |reply| reply.items.iter().for_each(print_released))?;
    let all = reply.items.iter().all(|item| item.error.is_none());
    Ok(if all { EXIT_SUCCESS } else { EXIT_NODES_FAILED })
}

/// Asks at the terminal. Without one, `--yes` is needed.
fn confirm(nodes: usize) -> Result<bool> {
    if !terminal::can_confirm() {
        let text = format!(
            "no terminal at which to confirm that {nodes} nodes run Puppet by themselves again; add --yes"
        );
        return Err(CommandFailure::Usage(text));
    }
    terminal::confirm(&format!(
        "Let {nodes} nodes run Puppet by themselves again, those of running jobs and those in quarantine too?"
    ))
}

fn print_lease(item: &LeaseItem) {
    let name = escaped_name(&item.name);
    match (&item.lease, &item.error) {
        (_, Some(error)) => say!("{} {name}  {}", style_failure("✗"), escape_control(error)),
        (None, None) => say!("{} {name}  runs Puppet by itself", style_success("✓")),
        (Some(lease), None) => {
            let words = describe_lease(lease);
            say!("{} {name}  {}", style_warning("-"), escape_control(&words));
        }
    }
}

fn describe_lease(lease: &LeaseDetails) -> String {
    let LeaseDetails {
        job,
        reason,
        state,
        ends_in_s,
    } = lease;
    match (state.as_str(), ends_in_s) {
        ("held", None) => format!("in quarantine since job {job}: {reason}"),
        ("held", Some(seconds)) => {
            format!("held by job {job}: {reason}; ends in {seconds} s unless the job renews it")
        }
        (state, _) => format!("{state} for job {job}: {reason}"),
    }
}

fn print_released(item: &ReleasedLease) {
    let name = escaped_name(&item.name);
    match (&item.error, item.released) {
        (Some(error), _) => say!("{} {name}  {}", style_failure("✗"), escape_control(error)),
        (None, true) => say!("{} {name}  runs Puppet by itself again", style_success("✓")),
        (None, false) => say!("{} {name}  had no lease", style_success("✓")),
    }
}
