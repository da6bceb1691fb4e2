//! `tutti quickstart`: a whole installation on loopback, in a directory of its own, in one command.
//!
//! Main type: [`Options`].
//!
//! Invariant: all programs are the real ones, started with the commands that are printed, so the
//! user can type them afterwards; nothing outside the directory is touched, and without `--keep` no
//! process is left.

mod agents;
mod child;
mod layout;
mod puppet;
mod tour;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use owo_colors::OwoColorize as _;
use tokio::signal::unix::{SignalKind, signal};

use child::{ChildProcess, ChildReadiness};
use layout::QuickstartLayout;
use puppet::PuppetSession;

/// Start a server, a broker, a CA and three agents here, and run tasks on them
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Directory of the installation [default: a new directory below the temporary one]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Serve catalogs, and run the installed `puppet agent` as three nodes, instead of tasks
    #[arg(long)]
    puppet: bool,
    /// Keep it running at the end, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// Starts the installation, demonstrates it, and stops it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let told_to_stop = stop_signal()?;
        tokio::pin!(told_to_stop);
        let running = tokio::select! {
            running = Box::pin(run_session(options)) => running?,
            // The children end with their handles.
            () = &mut told_to_stop => return Ok(()),
        };
        if options.keep {
            tokio::select! {
                () = running.wait_for_end() => {}
                () = &mut told_to_stop => {}
            }
        }
        running.stop().await
    })
}

/// Ends at the first SIGTERM or Ctrl-C.
fn stop_signal() -> Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        anstream::eprintln!("\nstopping");
    })
}

/// The processes of a quickstart.
struct QuickstartProcesses {
    server: ChildProcess,
    agents: Vec<ChildProcess>,
}

async fn run_session(options: &Options) -> Result<QuickstartProcesses> {
    let puppet = match options.puppet {
        true => Some(puppet::find_programs().await?),
        false => None,
    };
    let agent = agents::program().await?;
    let place = QuickstartLayout::create(options.directory.as_deref(), options.puppet)?;
    cli::say!(
        "{} {}\n",
        "Tutti quickstart in".bold(),
        place.root.display()
    );
    let puppet = match puppet {
        Some(installed) => Some(PuppetSession::prepare(&place, installed).await?),
        None => None,
    };
    let server = start_server(&place).await?;
    let agents = match puppet {
        Some(session) => {
            login(&place).await?;
            session.run(&place, &agent, options.keep).await?
        }
        None => {
            let agents = agents::start(&place, &agent).await?;
            login(&place).await?;
            tour::run(&place, agents.len()).await?;
            tour::print_next_steps(&place, options.keep);
            agents
        }
    };
    Ok(QuickstartProcesses { server, agents })
}

// === impl QuickstartProcesses ===

impl QuickstartProcesses {
    /// Waits until one of the processes ends by itself.
    async fn wait_for_end(&self) {
        let children = self.agents.iter().chain([&self.server]);
        let ends = children.map(|child| Box::pin(child.wait_for_end()));
        let (name, _, _) = futures_util::future::select_all(ends).await;
        anstream::eprintln!("{} {name} ended; see its log", "error:".red().bold());
    }

    async fn stop(self) -> Result<()> {
        for child in self.agents {
            child.stop().await?;
        }
        self.server.stop().await
    }
}

async fn start_server(place: &QuickstartLayout) -> Result<ChildProcess> {
    let command = [
        place.tutti.clone(),
        "server".into(),
        "--config".into(),
        place.config().into(),
    ];
    let server = ChildProcess::start(
        "server",
        &command,
        &place.root.join("server.log"),
        ChildReadiness::Started,
    )
    .await?;
    print_step(
        "server, broker and CA",
        &format!("https://localhost:{}", place.ports.api),
    );
    Ok(server)
}

async fn login(place: &QuickstartLayout) -> Result<()> {
    let password = place.data_dir().join("admin-password");
    let mut command = place.client();
    command
        .args(["login", "admin", "--password-file"])
        .arg(&password);
    let output = command.output().await.context("cannot start the client")?;
    anyhow::ensure!(
        output.status.success(),
        "cannot log in: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    print_step(
        "logged in as admin",
        &format!("password in {}", password.display()),
    );
    Ok(())
}

/// Prints a completed step.
fn print_step(what: &str, where_it_is: &str) {
    cli::say!("  {} {what:<22}  {}", "✓".green(), where_it_is.dimmed());
}
