//! `tutti code verify`. Main function: [`run`].
//!
//! Invariant: the exit code is 0 only if all files and versions are as they were built, or were
//! restored.

use api_types::{CodeVerified, CodeVerifiedVersion, CodeVerifyCommand};

use super::code_route;
use super::directory::LocalCodeOptions;
use super::display::{megabytes, short};
use crate::client::ApiClient;
use crate::defaults::DEPLOY_TIMEOUT;
use crate::present::OutputOptions;
use crate::terminal::{self, escape_control};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, VerbResult, table};

/// Arguments of `tutti code verify`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code verify
  tutti code verify --repair
  tutti code verify --format json | jq '.versions[] | select(.state != \"whole\")'

All contents of the store are hashed, and all files and links of all versions are compared with what they were
built of. With --repair, damaged contents are removed and damaged versions are built again of the same commits,
each as a deployment of its environment. The exit code is 0 if nothing is damaged, or is any more.")]
pub struct Options {
    /// Restore damaged files
    #[arg(long)]
    pub repair: bool,
    #[command(flatten)]
    shown: OutputOptions,
    #[command(flatten)]
    pub place: LocalCodeOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let path = code_route("verify");
    let command = CodeVerifyCommand {
        repair: options.repair,
    };
    let verified: CodeVerified = client
        .post_with_timeout(&path, &command, DEPLOY_TIMEOUT)
        .await?;
    Ok(print(&verified, options))
}

/// Prints the result of a verification and returns the exit code.
pub fn print(verified: &CodeVerified, options: &Options) -> u8 {
    if !options.shown.format.print_json(verified) {
        print_table(verified, options.repair);
    }
    let is_whole =
        |version: &CodeVerifiedVersion| ["whole", "repaired"].contains(&version.state.as_str());
    let has_whole_contents = options.repair || verified.damaged_contents == 0;
    match has_whole_contents && verified.versions.iter().all(is_whole) {
        true => EXIT_SUCCESS,
        false => EXIT_NODES_FAILED,
    }
}

fn print_table(verified: &CodeVerified, is_repair: bool) {
    let versions = &verified.versions;
    if !versions.is_empty() {
        let heading = ["ENVIRONMENT", "VERSION", "", "STATE", "DAMAGED FILES"];
        table::print(&heading, versions.iter().map(row).collect());
    }
    for version in versions {
        if let Some(why) = &version.why {
            let environment = escape_control(&version.environment);
            say!(
                "    {environment} {}: {}",
                short(&version.version),
                escape_control(why)
            );
        }
    }
    say!(
        "{} contents were hashed, {:.1} MB; {} of them damaged{}",
        verified.contents,
        megabytes(verified.bytes),
        verified.damaged_contents,
        match is_repair && verified.damaged_contents > 0 {
            true => " and removed",
            false => "",
        }
    );
    let count = |state: &str| versions.iter().filter(|it| it.state == state).count();
    say!(
        "{} versions: {} whole, {} repaired, {} damaged, {} not comparable",
        versions.len(),
        count("whole"),
        count("repaired"),
        count("damaged"),
        count("unknown")
    );
}

fn row(version: &CodeVerifiedVersion) -> Vec<String> {
    let mut files = version.damaged.join(", ");
    if version.damaged_files > version.damaged.len() {
        files = format!(
            "{files} and {} more",
            version.damaged_files - version.damaged.len()
        );
    }
    let state = match version.state.as_str() {
        "damaged" => terminal::style_failure("damaged"),
        state => escape_control(state),
    };
    vec![
        terminal::escaped_name(&version.environment),
        short(&version.version).to_owned(),
        if version.live { "live" } else { "" }.to_owned(),
        state,
        escape_control(&files),
    ]
}
