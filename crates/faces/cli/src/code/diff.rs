//! `tutti code diff`. Main function: [`run`].

use api_types::CodeDiff;

use super::code_route;
use super::display::{print_changes, short};
use crate::VerbResult;
use crate::client::ApiClient;
use crate::present::OutputOptions;
use crate::terminal::escape_control;

/// Arguments of `tutti code diff`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code diff production 3f2a9c
  tutti code diff production 3f2a9c 77b01e
  tutti code diff staging --with production")]
pub struct Options {
    /// Name of the environment
    #[arg(value_name = "ENVIRONMENT")]
    environment: String,
    /// First digits of a version [default: the live one]
    #[arg(value_name = "FROM")]
    from: Option<String>,
    /// First digits of another version [default: the live one]
    #[arg(value_name = "TO")]
    to: Option<String>,
    /// Compare with another environment
    #[arg(long, value_name = "ENVIRONMENT")]
    with: Option<String>,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let path = code_route("diff");
    let mut query = vec![("environment", options.environment.as_str())];
    query.extend(options.from.as_deref().map(|it| ("from", it)));
    query.extend(options.to.as_deref().map(|it| ("to", it)));
    query.extend(options.with.as_deref().map(|it| ("to_environment", it)));
    let diff: CodeDiff = client.get(&path, &query).await?;
    options.shown.format.present(&diff, print)
}

fn print(diff: &CodeDiff) {
    say!("{} → {}", short(&diff.from), short(&diff.to));
    print_changes(Some(&diff.changes));
    for file in &diff.files {
        let (change, path) = (escape_control(&file.change), escape_control(&file.path));
        say!("  {change:<8} {path}");
    }
    if diff.cut {
        say!("  … and more files");
    }
    if diff.files.is_empty() {
        say!("  The files are the same.");
    }
}
