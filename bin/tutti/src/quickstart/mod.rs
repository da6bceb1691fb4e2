//! `tutti quickstart`: a whole installation on loopback, in a directory of its own, in one command.
//!
//! Main type: [`Options`]. The rule: everything here is the real thing, started with the commands that
//! are printed, so what a person sees is what they can type afterwards; nothing outside the directory
//! is touched, and without `--keep` no process is left.

mod agents;
mod child;
mod place;
mod tour;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use owo_colors::OwoColorize as _;
use tokio::signal::unix::{SignalKind, signal};

use child::Child;
use place::Place;

/// Start a server, a broker, a CA and three agents here, and run tasks on them
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Where everything goes [default: a new directory below the temporary one]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Leave it running at the end, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// Builds it up, shows it, and takes it down.
pub(crate) fn run(options: &Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            outcome = Box::pin(session(options)) => outcome,
            _ = tokio::signal::ctrl_c() => Ok(interrupted()),
            _ = terminate.recv() => Ok(interrupted()),
        }
        // Whatever ended it, the children end with their handles.
    })
}

async fn session(options: &Options) -> Result<()> {
    let agent = agents::program().await?;
    let place = Place::make(options.directory.as_deref())?;
    anstream::println!(
        "{} {}\n",
        "Tutti quickstart in".bold(),
        place.root.display()
    );
    let server = start_server(&place).await?;
    let agents = agents::start(&place, &agent).await?;
    login(&place).await?;
    tour::run(&place, agents.len()).await?;
    tour::farewell(&place, options.keep);
    if options.keep {
        stay(&server, &agents).await;
    }
    for child in agents {
        child.stop().await?;
    }
    server.stop().await
}

/// Until Ctrl-C (which ends the future) or until something ends by itself.
async fn stay(server: &Child, agents: &[Child]) {
    let ends = agents
        .iter()
        .chain([server])
        .map(|child| Box::pin(child.ended()));
    let (name, _, _) = futures_util::future::select_all(ends).await;
    anstream::eprintln!("{} {name} ended; see its log", "error:".red().bold());
}

async fn start_server(place: &Place) -> Result<Child> {
    let command = [
        place.tutti.clone(),
        "server".into(),
        "--config".into(),
        place.config().into(),
    ];
    let server = Child::start("server", &command, &place.root.join("server.log")).await?;
    step(
        "server, broker and CA",
        &format!("https://localhost:{}", place.ports.api),
    );
    Ok(server)
}

async fn login(place: &Place) -> Result<()> {
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
    step(
        "logged in as admin",
        &format!("password in {}", password.display()),
    );
    Ok(())
}

/// One thing done.
fn step(what: &str, where_it_is: &str) {
    anstream::println!("  {} {what}  {}", "✓".green(), where_it_is.dimmed());
}

fn interrupted() {
    anstream::eprintln!("\nstopping");
}
