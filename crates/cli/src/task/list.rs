//! `tutti task list`. Main type: [`Options`].

use api_types::{TaskList, TaskListItem};

use super::Environment;
use crate::client::Client;
use crate::shown::{Shown, json};
use crate::{EXIT_SUCCESS, Failure, Format, terminal};

/// Between the name and what it does.
const GAP: usize = 2;

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
    let width = list.items.iter().map(|task| task.name.chars().count());
    let width = width.max().unwrap_or(0);
    for task in list.items {
        say!("{}", line(&task, width, terminal::room()));
    }
    Ok(EXIT_SUCCESS)
}

/// The name, in `width` columns, and the first line of what it does, as far as there is room for it.
fn line(task: &TaskListItem, width: usize, room: Option<usize>) -> String {
    let name = terminal::harmless(&task.name);
    let description = task.description.as_deref().unwrap_or_default();
    let description = description.lines().next().unwrap_or_default();
    let mut text = terminal::harmless(description);
    if !task.permitted {
        text = format!("(not permitted) {text}");
    }
    if let Some(room) = room {
        text = fitted(&text, room.saturating_sub(width + GAP));
    }
    if text.is_empty() {
        return terminal::name(name);
    }
    let pad = " ".repeat(width.saturating_sub(name.chars().count()) + GAP);
    let text = if task.permitted {
        text
    } else {
        terminal::dim(text)
    };
    format!("{}{pad}{text}", terminal::name(name))
}

/// `text` with an ellipsis in the place of what does not fit.
fn fitted(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, permitted: bool, description: Option<&str>) -> TaskListItem {
        TaskListItem {
            id: String::new(),
            name: name.to_owned(),
            permitted,
            description: description.map(str::to_owned),
        }
    }

    fn plain(task: &TaskListItem, room: Option<usize>) -> String {
        anstream::adapter::strip_str(&line(task, 8, room)).to_string()
    }

    #[test]
    fn a_task_is_listed_with_the_first_line_of_what_it_does() {
        let package = task("package", true, Some("Show a package\nand more"));
        assert_eq!(plain(&package, None), "package   Show a package");
        assert_eq!(plain(&package, Some(24)), "package   Show a package");
        assert_eq!(plain(&package, Some(20)), "package   Show a pa…");
        assert_eq!(plain(&task("a", true, None), None), "a");
        let evil = task("a", true, Some("\u{1b}[2J"));
        assert_eq!(plain(&evil, None), "a         ␛[2J");
    }

    #[test]
    fn what_may_not_be_run_says_so_first() {
        let package = task("package", false, Some("Show a package"));
        assert_eq!(
            plain(&package, None),
            "package   (not permitted) Show a package"
        );
        assert_eq!(
            plain(&task("a", false, None), None).trim_end(),
            "a         (not permitted)"
        );
    }
}
