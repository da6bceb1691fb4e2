//! `tutti task list`. Main type: [`ConfigFileKeys`].

use api_types::TaskList;

use super::EnvironmentOption;
use crate::client::ApiClient;
use crate::named_list::{self, NamedLine};
use crate::present::{OutputOptions, json};
use crate::{EXIT_SUCCESS, OutputFormat, VerbResult};

/// Arguments of `tutti task list`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    environment: EnvironmentOption,
    #[command(flatten)]
    shown: OutputOptions,
}

/// The tasks to list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskSelection {
    All,
    Permitted,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let environment = options.environment.effective_environment(client);
    show(
        client,
        &environment,
        TaskSelection::All,
        options.shown.format,
    )
    .await
}

/// Prints the tasks of `environment`.
pub(super) async fn show(
    client: &ApiClient,
    environment: &str,
    which: TaskSelection,
    format: OutputFormat,
) -> VerbResult {
    let path = ["orchestrator", "v1", "tasks"];
    let query = [("environment", environment)];
    let mut list: TaskList = client.get(&path, &query).await?;
    list.items
        .retain(|task| which == TaskSelection::All || task.permitted);
    if format == OutputFormat::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        let more = match which {
            TaskSelection::All => "",
            TaskSelection::Permitted => " that you may run; --all shows the others",
        };
        say!("No tasks in environment {environment}{more}.");
    }
    let lines = list.items.iter().map(|task| NamedLine {
        name: &task.name,
        permitted: task.permitted,
        description: task.description.as_deref(),
        error: task.error.as_ref(),
    });
    named_list::print(&lines.collect::<Vec<_>>());
    Ok(EXIT_SUCCESS)
}
