//! `tutti code versions`. Main function: [`run`].

use api_types::{CodeVersion, CodeVersions};

use super::code_route;
use super::directory::LocalCodeOptions;
use super::display::short;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, escaped_name};
use crate::{VerbResult, present};

/// Arguments of `tutti code versions`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code versions
  tutti code versions production --format json | jq '.items[] | select(.live)'
  tutti code versions --local --r10k-config r10k.yaml")]
pub struct Options {
    /// Only versions of this environment
    #[arg(value_name = "ENVIRONMENT")]
    pub environment: Option<String>,
    #[command(flatten)]
    pub shown: OutputOptions,
    #[command(flatten)]
    pub place: LocalCodeOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let path = code_route("versions");
    let environment = options.environment.as_deref();
    let query = environment.map(|it| ("environment", it));
    let query: Vec<_> = query.into_iter().collect();
    let versions: CodeVersions = client.get(&path, &query).await?;
    options.shown.format.present(&versions, |versions| {
        present::table(
            &versions.items,
            &[
                ("ENVIRONMENT", &|version| escaped_name(&version.environment)),
                ("VERSION", &|version| short(&version.version).to_owned()),
                ("", &describe_state),
                ("COMMIT", &|version| {
                    version
                        .control_commit
                        .as_deref()
                        .map_or("", short)
                        .to_owned()
                }),
                ("BRANCH", &|version| {
                    escape_control(version.branch.as_deref().unwrap_or_default())
                }),
                ("MODULES", &|version| version.modules.to_string()),
            ],
        );
    })
}

fn describe_state(version: &CodeVersion) -> String {
    match (version.live, &version.pinned) {
        (true, Some(pin)) => format!("live, pinned by {}", escape_control(&pin.owner)),
        (true, None) => "live".to_owned(),
        (false, _) => String::new(),
    }
}
