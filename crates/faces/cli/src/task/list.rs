//! `tutti task list`. Main type: [`Options`].

use api_types::TaskList;

use super::EnvironmentOption;
use crate::client::ApiClient;
use crate::named_list::{self, NamedLine};
use crate::present::OutputOptions;
use crate::{OutputFormat, VerbResult};

/// Arguments of `tutti task list`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    environment: EnvironmentOption,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(crate) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let environment = options.environment.effective_environment(client);
    show(client, &environment, true, options.shown.format).await
}

/// Prints the tasks of `environment`: all, or those that the user may run.
pub(super) async fn show(
    client: &ApiClient,
    environment: &str,
    all: bool,
    format: OutputFormat,
) -> VerbResult {
    let path = ["orchestrator", "v1", "tasks"];
    let query = [("environment", environment)];
    let mut list: TaskList = client.get(&path, &query).await?;
    list.items.retain(|task| all || task.permitted);
    format.present(&list, |list| {
        let more = match all {
            true => "",
            false => " that you may run; --all shows the others",
        };
        let lines = list.items.iter().map(|task| NamedLine {
            name: &task.name,
            permitted: task.permitted,
            description: task.description.as_deref(),
            error: task.error.as_ref(),
        });
        named_list::print(
            lines,
            &format!("No tasks in environment {environment}{more}."),
        );
    })
}
