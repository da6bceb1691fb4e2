//! `tutti node leases` and `tutti node release`. Main types: [`LeaseOptions`], [`ReleaseOptions`].

use api_types::{
    LeaseDetails, LeaseItem, LeaseList, LeaseQuery, ReleaseLeasesCommand, ReleaseLeasesReply,
    ReleasedLease,
};

use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::targets::NodeNames;
use crate::terminal::{escape_control, escaped_name, style_failure, style_success, style_warning};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, VerbResult};

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
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn list(options: &LeaseOptions, client: &ApiClient) -> VerbResult {
    let nodes = options.targets.resolve(client).await?;
    let path = ["orchestrator", "v1", "leases"];
    let reply: LeaseList = client.post(&path, &LeaseQuery { nodes }).await?;
    let format = options.shown.format;
    format.present(&reply, |reply| reply.items.iter().for_each(print_lease))?;
    let all = reply.items.iter().all(|item| item.error.is_none());
    Ok(if all { EXIT_SUCCESS } else { EXIT_NODES_FAILED })
}

pub(crate) async fn release(options: &ReleaseOptions, client: &ApiClient) -> VerbResult {
    let nodes = options.targets.resolve(client).await?;
    let path = ["orchestrator", "v1", "command", "release_leases"];
    let command = ReleaseLeasesCommand { nodes };
    let reply: ReleaseLeasesReply = client.post(&path, &command).await?;
    let format = options.shown.format;
    format.present(&reply, |reply| reply.items.iter().for_each(print_released))?;
    let all = reply.items.iter().all(|item| item.error.is_none());
    Ok(if all { EXIT_SUCCESS } else { EXIT_NODES_FAILED })
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
