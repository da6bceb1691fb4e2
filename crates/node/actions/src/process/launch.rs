//! The agent's end of a wrapper: [`SupervisedAction`], started by this agent or found again after a
//! restart.
//!
//! Invariant: dropping the handle ends nothing; the wrapper goes on.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};

use super::wrapper::WrapperNotice;
use super::{ProcessIdentity, WrapperRequest};

/// A running action.
#[derive(Debug)]
pub(crate) struct SupervisedAction {
    identity: ProcessIdentity,
    watch: ProcessWatch,
}

#[derive(Debug)]
enum ProcessWatch {
    /// A wrapper started by this agent, which reports when the record is in place.
    Notices(Lines<BufReader<ChildStdout>>),
    /// A wrapper of an earlier agent: only its end can be observed.
    Pidfd(AsyncFd<OwnedFd>),
    /// The wrapper ended before it was attached.
    Gone,
}

/// Reason for which an action did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    /// The wrapper could not be started, so nothing ran.
    #[error("cannot start the wrapper {program:?}: {source}")]
    Spawn {
        program: OsString,
        source: io::Error,
    },
    /// Nothing ran, and the wrapper reported this reason.
    #[error("{0}")]
    NotRun(String),
    /// The wrapper ended without a report; the claim shows if the action ran.
    #[error("the wrapper ended before it started the action")]
    Silent,
}

impl SupervisedAction {
    /// Starts a wrapper for `entry` and waits until the action is about to run.
    pub(crate) async fn launch(
        wrapper: &[OsString],
        entry: &Path,
        order: &WrapperRequest,
        stdin: &[u8],
    ) -> Result<Self, LaunchError> {
        let (program, args) = wrapper
            .split_first()
            .expect("the engine checks its wrapper");
        let spawn_error = |source| LaunchError::Spawn {
            program: program.clone(),
            source,
        };
        let mut child = Command::new(program)
            .args(args)
            .arg(entry)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(spawn_error)?;
        let input = child.stdin.take().expect("stdin was asked for");
        let output = child.stdout.take().expect("stdout was asked for");
        let mut notices = BufReader::new(output).lines();
        // A wrapper that stops reading has reported the reason, which is the one that counts.
        let _ = write_request(input, order, stdin).await;
        match next_notice(&mut notices).await {
            Some(WrapperNotice::Claimed(identity)) => Ok(Self {
                identity,
                watch: ProcessWatch::Notices(notices),
            }),
            Some(WrapperNotice::NotRun(why)) => Err(LaunchError::NotRun(why)),
            Some(WrapperNotice::Ended) | None => Err(LaunchError::Silent),
        }
        // The child's handle is dropped here: tokio reaps it when it ends.
    }

    /// Attaches to a wrapper of an earlier agent.
    pub(crate) fn attach(identity: ProcessIdentity) -> io::Result<Self> {
        let watch = match identity.open() {
            Some(pidfd) => ProcessWatch::Pidfd(super::to_async_fd(pidfd)?),
            None => ProcessWatch::Gone,
        };
        Ok(Self { identity, watch })
    }

    /// Waits until the exit record is in place or the wrapper is gone.
    pub(crate) async fn wait_ended(&mut self) {
        match &mut self.watch {
            ProcessWatch::Notices(notices) => {
                while let Some(WrapperNotice::Claimed(_)) = next_notice(notices).await {}
            }
            ProcessWatch::Pidfd(pidfd) => {
                // An error means that the runtime is shutting down; the caller looks for the record
                // and finds none.
                let _ = pidfd.readable().await;
            }
            ProcessWatch::Gone => {}
        }
    }

    /// Signals the wrapper to end the action's whole process tree; with `force`, at once.
    pub(crate) fn stop(&self, force: bool) {
        self.identity
            .signal(if force { Signal::USR1 } else { Signal::TERM });
    }
}

async fn write_request(
    mut input: ChildStdin,
    order: &WrapperRequest,
    stdin: &[u8],
) -> io::Result<()> {
    input.write_all(&order.to_line()).await?;
    input.write_all(stdin).await?;
    input.shutdown().await
}

async fn next_notice(notices: &mut Lines<BufReader<ChildStdout>>) -> Option<WrapperNotice> {
    let line = notices.next_line().await.ok()??;
    serde_json::from_str(&line).ok()
}
