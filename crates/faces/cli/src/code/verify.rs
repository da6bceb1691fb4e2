//! `tutti code verify`. Main function: [`run`].
//!
//! Invariant: the exit code is 0 only if all files and versions are as they were built, or were
//! restored.

use api_types::{CodeVerified, CodeVerifiedVersion, CodeVerifyCommand};

use super::code_route;
use super::directory::LocalCodeOptions;
use super::display::{megabytes, short};
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, escaped_name, style_failure};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, VerbResult, present};

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
    let verified: CodeVerified = client.post_long(&path, &command).await?;
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
        present::table(
            versions,
            &[
                ("ENVIRONMENT", &|version| escaped_name(&version.environment)),
                ("VERSION", &|version| short(&version.version).to_owned()),
                ("", &|version| {
                    if version.live { "live" } else { "" }.to_owned()
                }),
                ("STATE", &|version| match version.state.as_str() {
                    "damaged" => style_failure("damaged"),
                    state => escape_control(state),
                }),
                ("DAMAGED FILES", &describe_damage),
            ],
        );
    }
    for version in versions {
        if let Some(why) = &version.why {
            let (environment, why) = (escape_control(&version.environment), escape_control(why));
            say!("    {environment} {}: {why}", short(&version.version));
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

fn describe_damage(version: &CodeVerifiedVersion) -> String {
    let files = escape_control(&version.damaged.join(", "));
    match version.damaged_files.saturating_sub(version.damaged.len()) {
        0 => files,
        more => format!("{files} and {more} more"),
    }
}
