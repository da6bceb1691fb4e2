//! `tutti code gc`. Main function: [`run`].

use api_types::{CodeCollected, CodeGcCommand};

use super::code_route;
use super::display::{megabytes, short};
use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::terminal::escaped_name;

/// Arguments of `tutti code gc`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code gc --dry-run
  tutti code gc

What is live, pinned or in use by a plan stays, and of each environment the last five versions, and whatever
was live in the last week, unless the server's code.keep_versions and code.keep_days say otherwise. The server
does this after deployments by itself. It waits for deployments that are under way.")]
pub struct Options {
    /// Only list the versions that would be removed
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let path = code_route("gc");
    let command = CodeGcCommand {
        dry_run: options.dry_run,
    };
    let told: CodeCollected = client.post_long(&path, &command).await?;
    let format = options.shown.format;
    format.present(&told, |told| print(told, options.dry_run))
}

fn print(told: &CodeCollected, is_dry: bool) {
    for gone in &told.versions {
        say!(
            "- {} {}",
            escaped_name(&gone.environment),
            short(&gone.version)
        );
    }
    let what = if is_dry { "would go" } else { "went" };
    say!(
        "{} versions {what}, and {} contents that no version has: {:.1} MB; {:.1} MB are left",
        told.versions.len(),
        told.objects,
        megabytes(told.bytes),
        megabytes(told.left_bytes)
    );
    let unused = match told.repositories {
        0 => String::new(),
        count => format!("; {count} unused ones were removed"),
    };
    let copies = megabytes(told.repositories_bytes);
    say!("Copies of repositories take {copies:.1} MB{unused}.");
}
