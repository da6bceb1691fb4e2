//! The `tutti-agent` process, from configuration to exit code.
//!
//! [`run`] is the whole program: it logs, locks the PID file, starts the [`Agent`], notifies the
//! service manager, and handles signals. Invariants: a signal is handled at any moment, even while
//! a certificate is awaited; stopping leaves running actions alone, because they have wrappers of
//! their own and are found again at the next start.

use std::process::ExitCode;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::access_log::AccessLog;
use crate::agent::{Agent, AgentStartError};
use crate::bootstrap::CertificateBootstrap;
use crate::config::Config;
use crate::config::error::{EXIT_FAILURE, EXIT_INVALID_CONFIG};
use crate::connection::ConnectionStatus;
use crate::defaults;
use crate::logging::{self, LogFiles};
use crate::pidfile::PidFile;
use error_causes::chain;

/// Error that ended the process.
#[derive(Debug, thiserror::Error)]
enum AgentRunError {
    #[error(transparent)]
    PidFile(#[from] crate::pidfile::PidFileError),
    #[error("cannot listen to signals")]
    Signals(#[source] std::io::Error),
    #[error("cannot open the PCP access log '{path}'")]
    AccessLog {
        path: std::path::PathBuf,
        source: std::io::Error,
    },
    #[error(transparent)]
    Agent(#[from] AgentStartError),
}

/// Signals that the process handles.
struct AgentSignals {
    terminate: Signal,
    interrupt: Signal,
    reopen: Signal,
}

/// Request made by a signal.
enum SignalRequest {
    Stop(&'static str),
    ReopenLogs,
}

/// Runs the agent until a signal stops it.
#[expect(clippy::print_stderr, reason = "logging is what has just failed")]
pub async fn run(config: Config) -> ExitCode {
    let logs = match logging::init(&config.log) {
        Ok(logs) => logs,
        Err(error) => {
            eprintln!("tutti-agent: {}", chain(&error));
            return ExitCode::from(EXIT_INVALID_CONFIG);
        }
    };
    match Box::pin(supervise(config, logs)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("cannot run: {}", chain(&error));
            // The log is usually a file; the parent process reads stderr.
            eprintln!("tutti-agent: {}", chain(&error));
            ExitCode::from(error.exit_code())
        }
    }
}

async fn supervise(config: Config, mut logs: LogFiles) -> Result<(), AgentRunError> {
    let mut signals = AgentSignals::listen().map_err(AgentRunError::Signals)?;
    let _pid_file = config.pidfile.as_deref().map(PidFile::lock).transpose()?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        pid = std::process::id(),
        "starting"
    );
    for note in &config.notes {
        tracing::warn!("{note}");
    }
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        tracing::info!(
            "staying in the foreground; a service manager puts agents into the background"
        );
    }
    let access_log = open_access_log(&config, &mut logs)?;

    let bootstrap = config.bootstrap.clone().map(CertificateBootstrap::new);
    let mut waiting = bootstrap
        .as_ref()
        .map(CertificateBootstrap::subscribe_waiting);
    let start = Agent::start(config, bootstrap, access_log);
    let agent = {
        let mut start = std::pin::pin!(start);
        loop {
            tokio::select! {
                agent = &mut start => break agent?,
                reason = next_wait(&mut waiting) => {
                    // Ready, since only an administrator can end the wait: `systemctl enable --now`
                    // and a boot must not fail because of it.
                    notify_service_manager(&[NotifyState::Ready, NotifyState::Status(&reason)]);
                }
                asked = signals.next() => match asked {
                    SignalRequest::Stop(by) => {
                        tracing::info!("stopped by {by} before the start was complete");
                        return Ok(());
                    }
                    SignalRequest::ReopenLogs => logs.reopen(),
                },
            }
        }
    };
    notify_service_manager(&[NotifyState::Ready]);
    serve(&agent, &mut signals, &logs).await;
    notify_service_manager(&[NotifyState::Stopping]);
    agent.shutdown(defaults::SHUTDOWN_DEADLINE).await;
    tracing::info!("stopped; running actions go on and are reported after the next start");
    Ok(())
}

/// Handles signals and reports the status until a signal stops the agent.
async fn serve(agent: &Agent, signals: &mut AgentSignals, logs: &LogFiles) {
    let mut status = agent.status();
    loop {
        let text = status_text(&status.borrow_and_update());
        notify_service_manager(&[NotifyState::Status(&text)]);
        tokio::select! {
            asked = signals.next() => match asked {
                SignalRequest::Stop(by) => {
                    tracing::info!("stopping: {by}");
                    return;
                }
                SignalRequest::ReopenLogs => logs.reopen(),
            },
            () = changed(&mut status) => {}
        }
    }
}

/// The next wait of the bootstrap; never returns if there is no bootstrap.
async fn next_wait(waiting: &mut Option<watch::Receiver<Option<String>>>) -> String {
    if let Some(waiting) = waiting {
        while waiting.changed().await.is_ok() {
            if let Some(reason) = waiting.borrow_and_update().clone() {
                return reason;
            }
        }
    }
    std::future::pending().await
}

/// Waits for a change of the status, which lives as long as the agent, so an error cannot occur; if
/// it did, only signals would be left to wait for.
async fn changed(status: &mut watch::Receiver<ConnectionStatus>) {
    if status.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn status_text(status: &ConnectionStatus) -> String {
    match status {
        ConnectionStatus::Connecting { broker } => format!("connecting to {broker}"),
        ConnectionStatus::Connected { broker } => format!("connected to {broker}"),
        ConnectionStatus::Waiting { reason, delay } => {
            format!(
                "not connected, next attempt in {:.0} s: {reason}",
                delay.as_secs_f64()
            )
        }
        ConnectionStatus::Stopped => "stopped".to_owned(),
    }
}

fn open_access_log(config: &Config, logs: &mut LogFiles) -> Result<AccessLog, AgentRunError> {
    let Some(path) = &config.access_log else {
        return Ok(AccessLog::Off);
    };
    let log = AccessLog::open(path).map_err(|source| AgentRunError::AccessLog {
        path: path.clone(),
        source,
    })?;
    if let Some(file) = log.file() {
        logs.add(file.clone());
    }
    Ok(log)
}

/// Notifies the service manager, if there is one; a failure is ignored.
fn notify_service_manager(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "cannot notify the service manager");
    }
}

// === impl AgentRunError ===

impl AgentRunError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Agent(error) if error.is_configuration() => EXIT_INVALID_CONFIG,
            Self::AccessLog { .. } => EXIT_INVALID_CONFIG,
            Self::PidFile(_) | Self::Signals(_) | Self::Agent(_) => EXIT_FAILURE,
        }
    }
}

// === impl AgentSignals ===

impl AgentSignals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            reopen: signal(SignalKind::user_defined2())?,
        })
    }

    async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.terminate.recv() => SignalRequest::Stop("SIGTERM"),
            _ = self.interrupt.recv() => SignalRequest::Stop("SIGINT"),
            _ = self.reopen.recv() => SignalRequest::ReopenLogs,
        }
    }
}

/// Blocks on `work` with a small runtime: one thread, and a few more only for files and name
/// resolution.
pub fn block_on<T>(work: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(defaults::BLOCKING_THREADS)
        .thread_keep_alive(Duration::from_secs(5))
        .build()?;
    let result = runtime.block_on(work);
    // A name look-up may hang for a minute; its result is no longer needed.
    runtime.shutdown_background();
    Ok(result)
}
