//! `tutti code versions`. Main function: [`run`].

use api_types::{CodeVersion, CodeVersions};

use super::CODE;
use super::directory::LocalCodeOptions;
use super::display::short;
use crate::client::ApiClient;
use crate::output::json;
use crate::terminal::{self, escape_control};
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat, table};

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
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    pub format: OutputFormat,
    #[command(flatten)]
    pub place: LocalCodeOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let path: Vec<&str> = CODE.into_iter().chain(["versions"]).collect();
    let environment = options.environment.as_deref();
    let query: Vec<_> = environment
        .map(|it| ("environment", it))
        .into_iter()
        .collect();
    let versions: CodeVersions = client.get(&path, &query).await?;
    match options.format {
        OutputFormat::Json => json(&versions),
        OutputFormat::Human => {
            let heading = ["ENVIRONMENT", "VERSION", "", "COMMIT", "BRANCH", "MODULES"];
            table::print(&heading, versions.items.iter().map(row).collect());
        }
    }
    Ok(EXIT_SUCCESS)
}

fn row(version: &CodeVersion) -> Vec<String> {
    let state = match (version.live, &version.pinned) {
        (true, Some(pin)) => format!("live, pinned by {}", escape_control(&pin.owner)),
        (true, None) => "live".to_owned(),
        (false, _) => String::new(),
    };
    vec![
        terminal::style_name(escape_control(&version.environment)),
        short(&version.version).to_owned(),
        state,
        version
            .control_commit
            .as_deref()
            .map_or("", short)
            .to_owned(),
        escape_control(version.branch.as_deref().unwrap_or_default()),
        version.modules.to_string(),
    ]
}
