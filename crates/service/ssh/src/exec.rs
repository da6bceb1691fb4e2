//! One command line on a host: [`execute`].
//!
//! The rule: the answer tells whether the command began. Standard input waits until `sudo`, where
//! there is one, has let us through; and a command that has ended is not waited for because a
//! process that it left behind holds its output open.

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

/// A command line and what belongs to it.
pub(crate) struct RemoteCommand<'a> {
    pub(crate) text: String,
    /// What comes before it.
    pub(crate) dialog: Option<SudoDialog>,
    pub(crate) password: Option<&'a SecretString>,
    pub(crate) tty: bool,
    pub(crate) input: CommandInput,
}

/// Standard input.
pub(crate) enum CommandInput {
    Bytes(Vec<u8>),
    File(File),
}

/// How a command that began ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandExit {
    Code(u32),
    /// Its number; `None`: the host has a signal that is not known here.
    Signal(Option<i32>),
    /// The connection was lost before the host said.
    Lost,
}

/// The command did not begin.
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

/// Bytes that are being written, until all are.
type InputWriter<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Runs `line`; its output goes to `capture`.
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
        // The terminal must neither repeat what we write nor change what the command writes.
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
    // The other side may be gone.
    let _ = write.close().await;
    talk.end(exit)
}

/// What is said before the command, and whether it began.
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
            // With a terminal, both streams come as one.
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
            // Whether it let us through cannot be told any more.
            (Some(_), None) if self.began => Ok(CommandExit::Lost),
            (None, None) => Ok(CommandExit::Lost),
            (Some(_), None) => Err(ExecError::Lost),
            (None, Some(exit)) => Ok(exit),
        }
    }
}

async fn write_input(write: &ChannelWriteHalf<client::Msg>, input: CommandInput) {
    // A command that does not read its input ends without it.
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

/// Returns when the output of an ended command has paused for long enough.
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

/// How long a step may take.
pub(crate) async fn run_with_limit<T>(
    limit: Duration,
    step: impl Future<Output = Result<T, ExecError>>,
) -> Result<T, String> {
    match timeout(limit, step).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(format!("it took more than {} s", limit.as_secs())),
    }
}
