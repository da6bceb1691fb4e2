//! `tutti task show TASK`. Main type: [`Options`].

use api_types::TaskDetail;
use serde_json::Value;

use super::environment::EnvironmentOption;
use super::list;
use super::requests::fetch_task_detail;
use crate::VerbResult;
use crate::client::ApiClient;
use crate::definition::RunnableDefinition;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, style_dim};

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
    let format = options.shown.format;
    match &options.task {
        None => list::show(client, &environment, options.all, format).await,
        Some(task) => {
            let detail = fetch_task_detail(client, task, &environment).await?;
            format.present(&detail, print)
        }
    }
}

fn print(detail: &TaskDetail) {
    let definition = RunnableDefinition {
        name: &detail.name,
        metadata: &detail.metadata,
        default: |about| Some(about.get("default")?.to_string()),
        is_required,
    };
    definition.print_heading();
    let (name, needed) = (
        escape_control(&detail.name),
        definition.required_arguments(),
    );
    say!("  tutti task run {name} -n NODES{needed}\n");
    definition.print_parameters();
    if detail.metadata.get("supports_noop") == Some(&Value::Bool(true)) {
        say!("\nCan run with --noop.");
    }
    for file in &detail.files {
        let name = escape_control(&file.filename);
        say!(
            "{}",
            style_dim(format!("{name}  {} bytes", file.size_bytes))
        );
    }
}

fn is_required(about: &Value) -> bool {
    let optional = about["type"]
        .as_str()
        .is_none_or(|kind| kind.starts_with("Optional") || kind == "Any");
    !optional && about.get("default").is_none()
}
