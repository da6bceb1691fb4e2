//! `tutti node purge NODE…`: removes nodes. Main type: [`Options`].

use api_types::{NodePurged, PurgeNode};

use crate::client::ApiClient;
use crate::output_format::OutputFormat;
use crate::present::OutputOptions;
use crate::terminal::{self, escape_control, escaped_name, style_failure, style_success};
use crate::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, Result, VerbResult};

/// Arguments of `tutti node purge`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Certnames of the nodes, in full
    #[arg(required = true, value_name = "NODE")]
    nodes: Vec<String>,
    /// Only deactivate the nodes in PuppetDB; certificates and data of this server stay
    #[arg(long)]
    only_deactivate: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    if !options.yes && !confirm(options)? {
        say!("Nothing was changed.");
        return Ok(EXIT_NODES_FAILED);
    }
    let path = ["inventory", "v1", "command", "purge-node"];
    let mut purged = Vec::with_capacity(options.nodes.len());
    for certname in &options.nodes {
        let command = PurgeNode {
            certname: certname.clone(),
            only_deactivate: options.only_deactivate,
        };
        let node: NodePurged = client.post(&path, &command).await?;
        if options.shown.format == OutputFormat::Human {
            print(&node);
        }
        purged.push(node);
    }
    options.shown.format.present(&purged, |_| {})?;
    let is_done = purged.iter().all(is_in_force);
    Ok(if is_done {
        EXIT_SUCCESS
    } else {
        EXIT_NODES_FAILED
    })
}

/// Asks at the terminal. Without one, `--yes` is needed.
fn confirm(options: &Options) -> Result<bool> {
    let names = options.nodes.join(", ");
    if !terminal::can_confirm() {
        let text = format!("no terminal at which to confirm that {names} is removed; add --yes");
        return Err(CommandFailure::Usage(text));
    }
    let what = match options.only_deactivate {
        true => "Deactivate in PuppetDB",
        false => "Revoke the certificate and delete all data of",
    };
    terminal::confirm(&format!("{what} {}?", escape_control(&names)))
}

/// True if the certificate of the node is rejected everywhere.
fn is_in_force(node: &NodePurged) -> bool {
    node.revocation
        .as_ref()
        .is_none_or(|it| it.problem.is_none() && it.still_connected.is_empty())
}

fn print(node: &NodePurged) {
    let mark = match is_in_force(node) {
        true => style_success("✓"),
        false => style_failure("✗"),
    };
    say!("{mark} {}", escaped_name(&node.certname));
    let certificate = match &*node.certificate {
        "cleaned" => "revoked and deleted",
        "unknown" => "none",
        "kept" => "kept",
        _ => "not of this server's authority: revoke it there, or the node can report again",
    };
    say!("  certificate  {certificate}");
    if let Some(revocation) = &node.revocation {
        for broker in &revocation.still_connected {
            say!(
                "               a session of it is still held by {}",
                escape_control(broker)
            );
        }
        if let Some(problem) = &revocation.problem {
            say!("               {}", escape_control(problem));
        }
    }
    if node.certificate != "kept" {
        let data = match node.was_known {
            true => "facts, reports, catalogs and exported resources deleted",
            false => "none in the inventory of this server",
        };
        say!("  data         {data}");
    }
    match &*node.puppetdb {
        "queued" => {
            say!("  puppetdb     deactivated when PuppetDB takes the command, which waits for it")
        }
        "deactivated" => say!("  puppetdb     deactivated"),
        _ => {}
    }
}
