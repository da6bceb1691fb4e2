//! Common parts of `tutti server` and `tutti broker`: configuration, logs, signals, drain.
//!
//! Main function: [`run`].
//!
//! Invariant: the order is: read the configuration, start everything or nothing, report the
//! addresses, run until stopped, drain with a deadline.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

use crate::config::Config;

/// Time for which a stopping service waits for unfinished work. systemd's own limit is 90 s.
pub(crate) const DRAIN_DEADLINE: Duration = Duration::from_secs(20);

/// Default log filter. A job on 10,000 nodes is 20,000 lines of access log, so only its refusals
/// are logged by default.
const DEFAULT_LOG: &str = "info,pcp_access=warn";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The configuration
    #[arg(long, env = "TUTTI_CONFIG", hide_env_values = true, default_value = crate::config::DEFAULT_PATH, value_name = "FILE")]
    config: PathBuf,
    /// Log filter, such as jobs=debug,info; pcp_access=info is a line for every message
    #[arg(long, env = "TUTTI_LOG", hide_env_values = true, default_value = DEFAULT_LOG, value_name = "FILTER")]
    log: String,
    /// Log JSON objects instead of text
    #[arg(long)]
    log_json: bool,
}

/// Runs `service` with a token that is cancelled when the process is to stop.
pub(crate) fn run<F>(
    options: &Options,
    service: impl FnOnce(Config, CancellationToken) -> F,
) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    let config = Config::read(&options.config)?;
    init_log(options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let stop = CancellationToken::new();
        let signals = tokio::spawn(stop_on_signal(stop.clone()));
        let outcome = Box::pin(service(config, stop)).await;
        signals.abort();
        outcome
    })
}

/// Notifies systemd (if requested) and the log that everything is up.
pub(crate) fn notify_ready(summary: &str) {
    tracing::info!("{summary}");
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        tracing::warn!(%error, "cannot tell systemd that the service is ready");
    }
}

/// Notifies systemd that the service is stopping.
pub(crate) fn notify_stopping() {
    tracing::info!("stopping");
    // Otherwise systemd notices it by the exit.
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
}

fn init_log(options: &Options) -> Result<()> {
    let filter = EnvFilter::try_new(&options.log)
        .with_context(|| format!("--log {} is not a filter", options.log))?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    if options.log_json {
        subscriber.json().init();
    } else {
        subscriber
            .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
            .init();
    }
    Ok(())
}

async fn stop_on_signal(stop: CancellationToken) -> Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.cancel();
    Ok(())
}
