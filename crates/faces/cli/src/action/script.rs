//! `tutti script run FILE [ARGUMENT…]`. Main type: [`Options`].

use std::path::PathBuf;

use api_types::ActionType;
use serde_json::Value;

use super::start::JobOptions;
use super::upload::{content, file_name};
use crate::VerbResult;
use crate::client::ApiClient;

/// Arguments of `tutti script run`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Script file on this machine
    script: PathBuf,
    /// Arguments of the script; after -- they may start with a dash
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    #[command(flatten)]
    job: JobOptions,
}

pub(super) async fn run(options: Options, client: &ApiClient) -> VerbResult {
    let name = file_name(&options.script)?;
    let heading = format!("script {name}");
    let params = vec![
        ("content", content(&options.script)?),
        ("name", Value::from(name)),
        ("arguments", Value::from(options.arguments)),
    ];
    let job = options
        .job
        .start(client, ActionType::Script, params, &heading);
    Box::pin(job).await
}
