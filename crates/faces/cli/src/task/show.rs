//! `tutti task show TASK`. Main type: [`ConfigFileKeys`].

use api_types::TaskDetail;
use serde_json::Value;

use super::list::{self, TaskSelection};
use super::{EnvironmentOption, split_name};
use crate::client::ApiClient;
use crate::present::{OutputOptions, json};
use crate::terminal::{escape_control, escaped_heading, escaped_name, style_dim};
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult};

/// Arguments of `tutti task show`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Task, such as package or service::restart; all when absent
    task: Option<String>,
    /// Include tasks that you may not run
    #[arg(long, conflicts_with = "task")]
    all: bool,
    #[command(flatten)]
    environment: EnvironmentOption,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let environment = options.environment.effective_environment(client);
    let Some(task) = &options.task else {
        let which = if options.all {
            TaskSelection::All
        } else {
            TaskSelection::Permitted
        };
        return list::show(client, &environment, which, options.shown.format).await;
    };
    let (module, task) = split_name(task);
    let path = ["orchestrator", "v1", "tasks", module, task];
    let query = [("environment", environment.as_str())];
    let detail: TaskDetail = client.get(&path, &query).await?;
    match options.shown.format {
        OutputFormat::Json => json(&detail),
        OutputFormat::Human => print(&detail),
    }
    Ok(EXIT_SUCCESS)
}

fn print(detail: &TaskDetail) {
    let text = |key: &str| {
        detail
            .metadata
            .get(key)
            .and_then(Value::as_str)
            .map(escape_control)
    };
    let description = text("description").unwrap_or_default();
    say!("{}  {description}\n", escaped_heading(&detail.name));
    let parameters = detail.metadata.get("parameters").and_then(Value::as_object);
    let needed = parameters
        .into_iter()
        .flatten()
        .filter(|(_, about)| is_required(about));
    let needed: Vec<_> = needed
        .map(|(key, _)| format!(" {}=…", escape_control(key)))
        .collect();
    say!(
        "  tutti task run {} -n NODES{}\n",
        escape_control(&detail.name),
        needed.concat()
    );
    for (key, about) in parameters.into_iter().flatten() {
        parameter(key, about);
    }
    if detail.metadata.get("supports_noop") == Some(&Value::Bool(true)) {
        say!("\nCan run with --noop.");
    }
    for file in &detail.files {
        say!(
            "{}",
            style_dim(format!(
                "{}  {} bytes",
                escape_control(&file.filename),
                file.size_bytes
            ))
        );
    }
}

fn parameter(key: &str, about: &Value) {
    let kind = about["type"].as_str().unwrap_or("Any");
    let mut notes = vec![escape_control(kind)];
    if let Some(default) = about.get("default") {
        notes.push(format!("default {}", escape_control(&default.to_string())));
    }
    if is_required(about) {
        notes.push("required".to_owned());
    }
    if about["sensitive"] == Value::Bool(true) {
        notes.push("sensitive".to_owned());
    }
    say!("  {}  {}", escaped_name(key), style_dim(notes.join(", ")));
    if let Some(description) = about["description"].as_str() {
        say!("      {}", escape_control(description));
    }
}

fn is_required(about: &Value) -> bool {
    let optional = about["type"]
        .as_str()
        .is_none_or(|kind| kind.starts_with("Optional") || kind == "Any");
    !optional && about.get("default").is_none()
}
