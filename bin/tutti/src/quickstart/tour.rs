//! What a quickstart shows: real commands with what they really print. Main function: [`run`].

use anyhow::{Context as _, Result, ensure};
use owo_colors::OwoColorize as _;

use super::place::Place;

/// One of each kind: a shell task with live output, a multi-file Python task, a structured result,
/// and noop.
const COMMANDS: [&[&str]; 5] = [
    &["node", "list"],
    &[
        "task",
        "run",
        "exec",
        "--all",
        "command=for i in 1 2 3; do echo \"step $i on $(hostname)\"; done",
    ],
    &[
        "task",
        "run",
        "facts",
        "-n",
        "anna.quickstart",
        "only=[\"os\",\"processors\"]",
    ],
    &[
        "task",
        "run",
        "package",
        "--all",
        "name=bash",
        "action=status",
    ],
    &[
        "task",
        "run",
        "reboot",
        "-n",
        "ben.quickstart",
        "--noop",
        "timeout=60",
    ],
];

/// Runs the commands, each shown as one would type it.
pub(super) async fn run(place: &Place, agents: usize) -> Result<()> {
    cli::say!("\n{agents} agents are connected. Let them play:");
    for arguments in COMMANDS {
        cli::say!("\n{} {}", "$".dimmed(), typed(arguments).bold());
        let status = place
            .client()
            .args(arguments)
            .status()
            .await
            .context("cannot start the client")?;
        ensure!(
            status.success(),
            "that should have worked; the logs are in {}",
            place.root.display()
        );
    }
    Ok(())
}

/// Where things are and what to type next.
pub(super) fn farewell(place: &Place, keep: bool) {
    cli::say!("\n{}", "Where things are".bold());
    let shown = |what: &str, path: &str| {
        cli::say!("  {what:<15} {}", place.root.join(path).display());
    };
    shown("configuration", "tutti.toml");
    shown("tasks", "code/environments/production/modules");
    shown("results", "data/tutti.db");
    shown("agents", "agents");
    shown("password", "data/admin-password");
    shown("logs", "server.log");
    let tutti = place.typed_program();
    if keep {
        cli::say!("\n{} (in another terminal)", "What to type next".bold());
        for (name, value) in place.client_settings() {
            cli::say!("  export {name}={}", value.display());
        }
        cli::say!("  {tutti} task list");
        cli::say!("  {tutti} task show service");
        cli::say!("  {tutti} job list");
        cli::say!("\nRunning until Ctrl-C.");
    } else {
        cli::say!("\n{}", "What to type next".bold());
        cli::say!("  {tutti} quickstart --keep");
        cli::say!(
            "\nEverything is stopped now. The directory stays for you to look at; delete it when you like."
        );
    }
}

/// The command line as a shell would take it.
fn typed(arguments: &[&str]) -> String {
    let quoted = arguments.iter().map(|argument| {
        let plain = argument
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_=.,:".contains(&byte));
        if plain {
            (*argument).to_owned()
        } else {
            format!("'{argument}'")
        }
    });
    std::iter::once("tutti".to_owned())
        .chain(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}
