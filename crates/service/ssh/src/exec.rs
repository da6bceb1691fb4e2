//! Execution of one command line on a host: [`execute`].
//!
//! Invariants: the result shows if the command began. Standard input is held back until `sudo`, if
//! it is used, has started the command; and after the exit of the command its output is read for a
//! limited time, since a background process may hold it open.

use std::fs::File;
use std::pin::Pin;
use std::time::Duration;

use pxp::ProcessStream;
use russh::{ChannelMsg, ChannelWriteHalf, Pty, Sig, client};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout};

use crate::capture::OutputCapture;
use crate::defaults::{DRAIN, DRAIN_MAX, OPEN_TIMEOUT};
use crate::dial::SshSession;
use crate::sudo::{SudoDialog, SudoReply};

/// A command line with its input and options.
pub(crate) struct RemoteCommand<'a> {
    pub(crate) text: String,
    /// Dialog with `sudo` before the command; `None` if the command runs as the login user.
    pub(crate) dialog: Option<SudoDialog>,
    pub(crate) password: Option<&'a SecretString>,
    pub(crate) tty: bool,
    pub(crate) input: CommandInput,
}

/// Standard input of a command.
pub(crate) enum CommandInput {
    Bytes(Vec<u8>),
    File(File),
}

/// End of a command that began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandExit {
    Code(u32),
    /// Number of the signal; `None` if its name is unknown.
    Signal(Option<i32>),
    /// The connection was lost before the exit was reported.
    Lost,
}

/// Cause for which a command did not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecError {
    #[error("the host opened no session: {0}")]
    Open(String),
    #[error("the host refuses to run commands")]
    Refused,
    #[error("the connection was lost before the command began")]
    Lost,
    #[error("changing to the user of run-as was refused: {0}")]
    Sudo(String),
    #[error("sudo asks for a password; give the connection a sudo-password")]
    NoPassword,
    #[error("sudo does not take the sudo-password")]
    WrongPassword,
}

/// Completes when all input is written.
type InputWriter<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Runs `line` and captures its output in `capture`.
pub(crate) async fn execute(
    session: &SshSession,
    line: RemoteCommand<'_>,
    capture: &mut OutputCapture,
) -> Result<CommandExit, ExecError> {
    let failed = |error: russh::Error| ExecError::Open(error.to_string());
    let opening = timeout(OPEN_TIMEOUT, session.handle.channel_open_session());
    let slow = |_| ExecError::Open(format!("no answer in {} s", OPEN_TIMEOUT.as_secs()));
    let channel = opening.await.map_err(slow)?.map_err(failed)?;
    if line.tty {
        // The terminal must neither echo the input nor change the output.
        let modes = [(Pty::ECHO, 0), (Pty::OPOST, 0), (Pty::ONLCR, 0)];
        let pty = channel.request_pty(false, "dumb", 80, 24, 0, 0, &modes);
        pty.await.map_err(failed)?;
    }
    channel.exec(true, line.text).await.map_err(failed)?;
    let (mut read, write) = channel.split();
    let mut talk = CommandExchange {
        dialog: line.dialog,
        password: line.password,
        tty: line.tty,
        began: false,
    };
    let mut input = Some(line.input);
    let mut writing: Option<InputWriter<'_>> = None;
    let mut exit = None;
    let mut ended: Option<(Instant, Instant)> = None;
    loop {
        if talk.dialog.is_none()
            && let Some(input) = input.take()
        {
            writing = Some(Box::pin(write_input(&write, input)));
        }
        let message = tokio::select! {
            message = read.wait() => match message {
                Some(message) => message,
                None => break,
            },
            () = finish_writing(&mut writing) => {
                writing = None;
                continue;
            }
            () = capture.wait_for_credit() => {
                capture.send_live().await;
                continue;
            }
            () = wait_drained(ended) => break,
        };
        let now = Instant::now();
        if let Some((_, last)) = &mut ended {
            *last = now;
        }
        match message {
            ChannelMsg::Success => talk.began = true,
            ChannelMsg::Failure => return Err(ExecError::Refused),
            ChannelMsg::Data { data } => {
                talk.receive(&write, ProcessStream::Stdout, &data, capture)
                    .await?
            }
            ChannelMsg::ExtendedData { data, ext: 1 } => {
                talk.receive(&write, ProcessStream::Stderr, &data, capture)
                    .await?;
            }
            ChannelMsg::ExitStatus { exit_status } => {
                exit = Some(CommandExit::Code(exit_status));
                ended = Some((now, now));
            }
            ChannelMsg::ExitSignal { signal_name, .. } => {
                exit = Some(CommandExit::Signal(signal_number(&signal_name)));
                ended = Some((now, now));
            }
            ChannelMsg::Close => break,
            _ => {}
        }
        capture.send_live().await;
    }
    drop(writing);
    // The connection may be gone.
    let _ = write.close().await;
    talk.end(exit)
}

/// State of a command line: the dialog with `sudo`, and the start of the command.
struct CommandExchange<'a> {
    dialog: Option<SudoDialog>,
    password: Option<&'a SecretString>,
    tty: bool,
    began: bool,
}

// === impl CommandExchange ===

impl CommandExchange<'_> {
    async fn receive(
        &mut self,
        write: &ChannelWriteHalf<client::Msg>,
        stream: ProcessStream,
        bytes: &[u8],
        capture: &mut OutputCapture,
    ) -> Result<(), ExecError> {
        let dialog = match &mut self.dialog {
            // A terminal merges both streams.
            Some(dialog) if stream == ProcessStream::Stderr || self.tty => dialog,
            _ => {
                capture.append(stream, bytes);
                return Ok(());
            }
        };
        match dialog.receive(bytes) {
            SudoReply::Nothing => {}
            SudoReply::Prompt => {
                let password = self.password.ok_or(ExecError::NoPassword)?;
                let answer = format!("{}\n", password.expose_secret());
                let written = write.data_bytes(answer.into_bytes()).await;
                written.map_err(|_| ExecError::Lost)?;
            }
            SudoReply::PromptAgain => return Err(ExecError::WrongPassword),
            SudoReply::Started(rest) => {
                self.dialog = None;
                capture.append(stream, &rest);
            }
            SudoReply::TooLong => return Err(ExecError::Sudo(dialog.output_text())),
        }
        Ok(())
    }

    fn end(self, exit: Option<CommandExit>) -> Result<CommandExit, ExecError> {
        match (self.dialog, exit) {
            (Some(dialog), Some(exit)) => {
                let words = dialog.output_text();
                let said = if words.is_empty() {
                    format!("it ended with {exit:?} and said nothing")
                } else {
                    words
                };
                Err(ExecError::Sudo(said))
            }
            // `sudo` may have started the program, so its outcome is unknown.
            (Some(_), None) if self.began => Ok(CommandExit::Lost),
            (None, None) => Ok(CommandExit::Lost),
            (Some(_), None) => Err(ExecError::Lost),
            (None, Some(exit)) => Ok(exit),
        }
    }
}

async fn write_input(write: &ChannelWriteHalf<client::Msg>, input: CommandInput) {
    // A command may exit without reading its input.
    let fed = match input {
        CommandInput::Bytes(bytes) => write.data(bytes.as_slice()).await,
        CommandInput::File(file) => write.data(tokio::fs::File::from_std(file)).await,
    };
    if fed.is_ok() {
        let _ = write.eof().await;
    }
}

async fn finish_writing(writing: &mut Option<InputWriter<'_>>) {
    match writing {
        Some(writing) => writing.await,
        None => std::future::pending().await,
    }
}

/// Returns when the output of a command that exited has paused for [`DRAIN`], or after
/// [`DRAIN_MAX`].
async fn wait_drained(ended: Option<(Instant, Instant)>) {
    let Some((since, last)) = ended else {
        return std::future::pending().await;
    };
    tokio::time::sleep_until((last + DRAIN).min(since + DRAIN_MAX)).await;
}

fn signal_number(signal: &Sig) -> Option<i32> {
    let number = match signal {
        Sig::HUP => 1,
        Sig::INT => 2,
        Sig::QUIT => 3,
        Sig::ILL => 4,
        Sig::ABRT => 6,
        Sig::FPE => 8,
        Sig::KILL => 9,
        Sig::USR1 => 10,
        Sig::SEGV => 11,
        Sig::PIPE => 13,
        Sig::ALRM => 14,
        Sig::TERM => 15,
        Sig::Custom(_) => return None,
    };
    Some(number)
}

/// Runs a step with a time limit.
pub(crate) async fn run_with_limit<T>(
    limit: Duration,
    step: impl Future<Output = Result<T, ExecError>>,
) -> Result<T, String> {
    match timeout(limit, step).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(format!("it took more than {} s", limit.as_secs())),
    }
}
