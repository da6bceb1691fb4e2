//! The demonstration of a quickstart: real commands with their real output. Main function: [`run`].

use anyhow::{Context as _, Result, ensure};
use owo_colors::OwoColorize as _;

use super::layout::QuickstartLayout;

/// A command, and the program that it requires on the nodes.
struct TourCommand {
    arguments: &'static [&'static str],
    needs: Option<&'static str>,
}

/// One of each kind: a shell task with live output, a multi-file Python task with a structured
/// result, a query to the package manager, and noop.
const COMMANDS: [TourCommand; 5] = [
    command_without_program(&["node", "list"]),
    command_without_program(&[
        "task",
        "run",
        "exec",
        "--all",
        "command=for i in 1 2 3; do echo \"step $i on $(hostname)\"; done",
    ]),
    TourCommand {
        arguments: &[
            "task",
            "run",
            "facts",
            "-n",
            "anna.quickstart",
            "only=[\"os\",\"processors\"]",
        ],
        needs: Some("python3"),
    },
    command_without_program(&[
        "task",
        "run",
        "package",
        "--all",
        "name=bash",
        "action=status",
    ]),
    command_without_program(&[
        "task",
        "run",
        "reboot",
        "-n",
        "ben.quickstart",
        "--noop",
        "timeout=60",
    ]),
];

const fn command_without_program(arguments: &'static [&'static str]) -> TourCommand {
    TourCommand {
        arguments,
        needs: None,
    }
}

/// Runs the commands, each shown as the user would type it.
pub(super) async fn run(place: &QuickstartLayout, agents: usize) -> Result<()> {
    cli::say!("\n{agents} agents are connected. Commands to try, with their output:");
    for TourCommand { arguments, needs } in COMMANDS {
        print_command(&quote_command_line(arguments));
        if let Some(program) = needs.filter(|program| !is_installed(program)) {
            cli::say!(
                "{} this task is written for {program}, which is not on this machine; install it \
                 and type the command yourself (quickstart --keep)",
                "left out:".yellow()
            );
            continue;
        }
        run_client(place, arguments).await?;
    }
    Ok(())
}

/// Prints a command of the client as the user would type it, and runs it.
pub(super) async fn show_client(place: &QuickstartLayout, arguments: &[&str]) -> Result<()> {
    print_command(&quote_command_line(arguments));
    run_client(place, arguments).await
}

/// Prints a command line before its output.
pub(super) fn print_command(line: &str) {
    cli::say!("\n{} {}", "$".dimmed(), line.bold());
}

async fn run_client(place: &QuickstartLayout, arguments: &[&str]) -> Result<()> {
    let status = place
        .client()
        .args(arguments)
        .kill_on_drop(true)
        .status()
        .await
        .context("cannot start the client")?;
    ensure!(
        status.success(),
        "that should have worked; the logs are in {}",
        place.root.display()
    );
    Ok(())
}

/// True if the agents, which inherit this environment, find the program.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Prints the paths of the installation and the next commands.
pub(super) fn print_next_steps(place: &QuickstartLayout, keep: bool) {
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

/// Quotes the command line for a shell.
fn quote_command_line(arguments: &[&str]) -> String {
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
