//! `tutti code gc`. Main function: [`run`].

use api_types::{CodeCollected, CodeGcCommand};

use super::CODE;
use super::display::{megabytes, short};
use crate::client::ApiClient;
use crate::defaults::DEPLOY_TIMEOUT;
use crate::output::json;
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat};

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
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let path: Vec<&str> = CODE.into_iter().chain(["gc"]).collect();
    let command = CodeGcCommand {
        dry_run: options.dry_run,
    };
    let told: CodeCollected = client
        .post_with_timeout(&path, &command, DEPLOY_TIMEOUT)
        .await?;
    if options.format == OutputFormat::Json {
        json(&told);
        return Ok(EXIT_SUCCESS);
    }
    for gone in &told.versions {
        say!(
            "- {} {}",
            terminal::style_name(escape_control(&gone.environment)),
            short(&gone.version)
        );
    }
    let what = match options.dry_run {
        true => "would go",
        false => "went",
    };
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
    say!(
        "Copies of repositories take {:.1} MB{unused}.",
        megabytes(told.repositories_bytes)
    );
    Ok(EXIT_SUCCESS)
}
