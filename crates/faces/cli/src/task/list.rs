//! `tutti task list`. Main type: [`Options`].

use api_types::TaskList;

use super::Environment;
use crate::client::Client;
use crate::named_list::{self, NamedLine};
use crate::shown::{Shown, json};
use crate::{EXIT_SUCCESS, Failure, Format};

/// Of which environment.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    environment: Environment,
    #[command(flatten)]
    shown: Shown,
}

/// Which tasks are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    All,
    Permitted,
}

pub(crate) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let environment = options.environment.of(client);
    show(client, &environment, Which::All, options.shown.format).await
}

/// Lists the tasks of `environment`.
pub(super) async fn show(
    client: &Client,
    environment: &str,
    which: Which,
    format: Format,
) -> Result<u8, Failure> {
    let path = ["orchestrator", "v1", "tasks"];
    let query = [("environment", environment)];
    let mut list: TaskList = client.get(&path, &query).await?;
    list.items
        .retain(|task| which == Which::All || task.permitted);
    if format == Format::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        let more = match which {
            Which::All => "",
            Which::Permitted => " that you may run; --all shows the others",
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
