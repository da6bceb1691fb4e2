//! `tutti task list`. Main type: [`Options`].

use api_types::TaskList;

use super::Environment;
use crate::client::Client;
use crate::shown::{Shown, json};
use crate::{EXIT_SUCCESS, Failure, Format, terminal};

/// Of which environment.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    environment: Environment,
    #[command(flatten)]
    shown: Shown,
}

pub(crate) async fn run(options: &Options, client: &Client) -> Result<u8, Failure> {
    let environment = options.environment.environment.as_str();
    let list: TaskList = client
        .get(
            &["orchestrator", "v1", "tasks"],
            &[("environment", environment)],
        )
        .await?;
    if options.shown.format == Format::Json {
        json(&list);
        return Ok(EXIT_SUCCESS);
    }
    if list.items.is_empty() {
        say!("No tasks in environment {environment}.");
    }
    for task in list.items {
        let mark = if task.permitted {
            ""
        } else {
            "  (not permitted)"
        };
        say!("{}{}", terminal::name(&task.name), terminal::dim(mark));
    }
    Ok(EXIT_SUCCESS)
}
