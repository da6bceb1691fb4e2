//! `tutti quickstart --puppet`: three real Puppet agents whose only server is this one. Main type:
//! [`PuppetSession`].
//!
//! Invariant: a node has directories of its own below the quickstart's, so the Puppet of this machine, its
//! certificate and its state stay as they are.

mod control_repository;
mod installed;
mod node;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use owo_colors::OwoColorize as _;

use super::agents;
use super::child::ChildProcess;
use super::layout::QuickstartLayout;
use super::print_step;
use super::tour::{print_command, show_client};
use control_repository::ControlRepository;
use installed::InstalledPuppet;
use node::PuppetNode;

/// The node whose file is changed by hand.
const CHANGED_NODE: &str = agents::NAMES[1];

/// The programs that the session needs: git, which is only checked, and Puppet.
pub(super) async fn find_programs() -> Result<InstalledPuppet> {
    let puppet = InstalledPuppet::find().await?;
    control_repository::check_git().await?;
    Ok(puppet)
}

/// A session with the installed Puppet and code in a control repository.
pub(super) struct PuppetSession {
    puppet: InstalledPuppet,
    control: ControlRepository,
}

// === impl PuppetSession ===

impl PuppetSession {
    /// Writes the control repository, which the server reads at its start.
    pub(super) async fn prepare(place: &QuickstartLayout, puppet: InstalledPuppet) -> Result<Self> {
        let control = ControlRepository::create(place).await?;
        Ok(Self { puppet, control })
    }

    /// Deploys code, enrols the nodes, and shows runs of Puppet; returns the agents of the nodes.
    pub(super) async fn run(
        &self,
        place: &QuickstartLayout,
        agent: &Path,
        keep: bool,
    ) -> Result<Vec<ChildProcess>> {
        let Self { puppet, control } = self;
        let url = format!("https://localhost:{}", place.ports.puppet_api);
        print_step("Puppet server", &url);
        let program = puppet.program.display().to_string();
        print_step(&format!("Puppet {}", puppet.version), &program);
        let directory = control.directory.display().to_string();
        print_step("control repository", &directory);
        cli::say!(
            "\nEach node has a program bin/puppet: the installed one with directories of that node, because three \
             nodes share this machine.\nCommands to try, with their output:"
        );
        show_client(place, &["code", "deploy", "production"]).await?;
        let nodes = agents::NAMES.map(|name| PuppetNode::create(place, puppet, name));
        let nodes = nodes.into_iter().collect::<Result<Vec<_>>>()?;
        enrol(&nodes).await?;
        let agents = connect(place, agent, &nodes).await?;
        tour(place).await?;
        print_next_steps(place, control, keep);
        Ok(agents)
    }
}

/// Lets the nodes request certificates and apply their first catalogs: the first node with its output, then the
/// others at the same time.
async fn enrol(nodes: &[PuppetNode]) -> Result<()> {
    let (first, others) = nodes.split_first().context("there is no node")?;
    print_command(&first.command_line());
    first.run_shown().await?;
    for node in others {
        print_command(&node.command_line());
    }
    futures_util::future::try_join_all(others.iter().map(PuppetNode::run_quietly)).await?;
    cli::say!("{}", "(much the same)".dimmed());
    Ok(())
}

/// Starts Tutti's agent on each node, with the certificate that Puppet has obtained.
async fn connect(
    place: &QuickstartLayout,
    agent: &Path,
    nodes: &[PuppetNode],
) -> Result<Vec<ChildProcess>> {
    cli::say!("\nTutti's agents use the certificates of Puppet:");
    let mut connected = Vec::new();
    for node in nodes {
        node.configure_agent()?;
        let started = agents::start_agent(place, agent, node.certname, &node.ssl_dir()).await?;
        connected.push(started);
        print_step(&format!("agent {}", node.certname), "connected");
    }
    Ok(connected)
}

/// An unchanged run of all nodes, a change by hand that Puppet corrects, and the reports.
async fn tour(place: &QuickstartLayout) -> Result<()> {
    show_client(place, &["job", "run", "--all"]).await?;
    let file = node::managed_directory(place, CHANGED_NODE).join("motd");
    let file = file.display();
    show_shell(&format!("echo 'changed by hand' > {file}")).await?;
    show_client(place, &["job", "run", "-n", CHANGED_NODE]).await?;
    show_shell(&format!("cat {file}")).await?;
    show_client(place, &["report", "list"]).await
}

/// Prints a command line of a shell, and runs it.
async fn show_shell(line: &str) -> Result<()> {
    print_command(line);
    let mut shell = tokio::process::Command::new("sh");
    shell.args(["-c", line]).kill_on_drop(true);
    let status = shell.status().await.context("cannot start sh")?;
    ensure!(status.success(), "`{line}` ended with {status}");
    Ok(())
}

/// Prints the paths of the installation and the next commands.
fn print_next_steps(place: &QuickstartLayout, control: &ControlRepository, keep: bool) {
    let root = place.root.display();
    cli::say!("\n{}", "Where things are".bold());
    for (what, path) in [
        ("configuration", "tutti.toml"),
        ("Puppet code", "control"),
        ("live version", "code/environments/production"),
        ("nodes", "agents"),
        ("password", "data/admin-password"),
        ("logs", "server.log"),
    ] {
        cli::say!("  {what:<15} {root}/{path}");
    }
    let tutti = place.typed_program();
    if !keep {
        cli::say!("\n{}", "What to type next".bold());
        cli::say!("  {tutti} quickstart --puppet --keep");
        cli::say!(
            "\nEverything is stopped now. The directory stays for you to look at; delete it when you like."
        );
        return;
    }
    cli::say!("\n{} (in another terminal)", "What to type next".bold());
    for (name, value) in place.client_settings() {
        cli::say!("  export {name}={}", value.display());
    }
    let control = control.directory.display();
    cli::say!("  echo 'A new line.' >> {control}/modules/motd/files/motd");
    cli::say!("  git -C {control} commit --all --message 'Greet longer'");
    cli::say!("  {tutti} code deploy production");
    cli::say!("  {tutti} job run --all");
    cli::say!("  {tutti} report list");
    cli::say!("\nRunning until Ctrl-C.");
}
