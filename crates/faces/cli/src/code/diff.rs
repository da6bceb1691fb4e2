//! `tutti code diff`. Main function: [`run`].

use api_types::CodeDiff;

use super::CODE;
use super::display::{print_changes, short};
use crate::client::ApiClient;
use crate::output::json;
use crate::terminal::escape_control;
use crate::{CommandFailure, EXIT_SUCCESS, OutputFormat};

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
    /// Output format
    #[arg(long, value_enum, default_value = "human")]
    format: OutputFormat,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> Result<u8, CommandFailure> {
    let path: Vec<&str> = CODE.into_iter().chain(["diff"]).collect();
    let mut query = vec![("environment", options.environment.as_str())];
    query.extend(options.from.as_deref().map(|it| ("from", it)));
    query.extend(options.to.as_deref().map(|it| ("to", it)));
    query.extend(options.with.as_deref().map(|it| ("to_environment", it)));
    let diff: CodeDiff = client.get(&path, &query).await?;
    if options.format == OutputFormat::Json {
        json(&diff);
        return Ok(EXIT_SUCCESS);
    }
    say!("{} → {}", short(&diff.from), short(&diff.to));
    print_changes(Some(&diff.changes));
    for file in &diff.files {
        say!(
            "  {:<8} {}",
            escape_control(&file.change),
            escape_control(&file.path)
        );
    }
    if diff.cut {
        say!("  … and more files");
    }
    if diff.files.is_empty() {
        say!("  The files are the same.");
    }
    Ok(EXIT_SUCCESS)
}
