//! Execution of a program with limits: [`run`], and [`run_with_input`] for one that reads.
//!
//! Invariant: a program's output and time are limited, and all processes that it started (ssh, a
//! helper of git, a script's children) end with it.

pub mod defaults;

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::error::Elapsed;

use crate::defaults::{LINE_BYTES, OUTPUT_BYTES};

/// The result of a program.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Exit status of the program.
    pub status: ExitStatus,
    /// Bytes that it wrote to standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
}

/// The error for a program that did not finish.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program could not be started, or its pipes broke.
    #[error("it cannot be run")]
    Start(#[source] io::Error),
    /// The program was killed after this time limit.
    #[error("it took more than {} s and was ended", .0.as_secs())]
    TimedOut(Duration),
    /// The program was killed after more than this number of bytes of output.
    #[error("it printed more than {0} bytes and was ended")]
    TooMuch(usize),
}

/// A process group, which is killed as a whole unless its first process was waited for.
struct ChildProcessGroup {
    child: Child,
    leader: Option<Pid>,
}

/// Runs a program to its end. It may print at most `most` bytes. Dropping the future kills the
/// program.
pub async fn run(
    command: Command,
    limit: Duration,
    most: usize,
) -> Result<ProgramOutput, ProgramError> {
    let mut group = ChildProcessGroup::start(command)?;
    let ended = tokio::time::timeout(limit, group.read(most)).await;
    group.end_unless_done(ended, limit).await
}

/// Runs a program to its end, with this standard input, of which it need not read all. The beginning
/// of both outputs is kept. Dropping the future kills the program.
pub async fn run_with_input(
    mut command: Command,
    input: &[u8],
    limit: Duration,
) -> Result<ProgramOutput, ProgramError> {
    command.stdin(Stdio::piped());
    let mut group = ChildProcessGroup::start(command)?;
    let ended = tokio::time::timeout(limit, group.feed_and_read(input)).await;
    group.end_unless_done(ended, limit).await
}

// === impl ChildProcessGroup ===

impl ChildProcessGroup {
    fn start(mut command: Command) -> Result<Self, ProgramError> {
        command
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let child = command.spawn().map_err(ProgramError::Start)?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self { child, leader })
    }

    /// The result of the program, which is killed if it failed or took longer than `limit`.
    async fn end_unless_done(
        &mut self,
        ended: Result<Result<ProgramOutput, ProgramError>, Elapsed>,
        limit: Duration,
    ) -> Result<ProgramOutput, ProgramError> {
        let ended = ended.unwrap_or(Err(ProgramError::TimedOut(limit)));
        if ended.is_err() {
            self.end().await;
        }
        ended
    }

    async fn read(&mut self, most: usize) -> Result<ProgramOutput, ProgramError> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let (stdout, stderr) = tokio::try_join!(read_all(stdout, most), read_beginning(stderr))?;
        let status = self.child.wait().await.map_err(ProgramError::Start)?;
        // The process id may be reused from now on.
        self.leader = None;
        Ok(ProgramOutput {
            status,
            stdout,
            stderr,
        })
    }

    async fn feed_and_read(&mut self, input: &[u8]) -> Result<ProgramOutput, ProgramError> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let stdin = self.child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A program that does not read its input is not in error.
                let _ = stdin.write_all(input).await;
            }
            Ok(())
        };
        let read = tokio::try_join!(read_beginning(stdout), read_beginning(stderr), feed);
        let (stdout, stderr, ()) = read?;
        let status = self.child.wait().await.map_err(ProgramError::Start)?;
        // The process id may be reused from now on.
        self.leader = None;
        Ok(ProgramOutput {
            status,
            stdout,
            stderr,
        })
    }

    async fn end(&mut self) {
        self.kill();
        // The program was killed: this cannot take long, and its output does not matter.
        let _ = self.child.wait().await;
        self.leader = None;
    }

    fn kill(&self) {
        if let Some(leader) = self.leader {
            // An error means that the group is already empty, as intended.
            let _ = rustix::process::kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for ChildProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn read_all(
    pipe: Option<impl AsyncRead + Unpin>,
    most: usize,
) -> Result<Vec<u8>, ProgramError> {
    let Some(pipe) = pipe else {
        return Ok(Vec::new());
    };
    let mut bytes = Vec::new();
    let mut pipe = pipe.take(most as u64 + 1);
    pipe.read_to_end(&mut bytes)
        .await
        .map_err(ProgramError::Start)?;
    match bytes.len() > most {
        true => Err(ProgramError::TooMuch(most)),
        false => Ok(bytes),
    }
}

/// Keeps the beginning and reads the rest, since a full pipe would block the program.
async fn read_beginning(pipe: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, ProgramError> {
    let Some(mut pipe) = pipe else {
        return Ok(Vec::new());
    };
    let mut bytes = Vec::new();
    let mut first = (&mut pipe).take(OUTPUT_BYTES as u64);
    first
        .read_to_end(&mut bytes)
        .await
        .map_err(ProgramError::Start)?;
    let rest = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    rest.map_err(ProgramError::Start)?;
    Ok(bytes)
}

/// A program's message, in one line of at most [`LINE_BYTES`].
pub fn to_one_line(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    let mut text = lines.join("; ");
    text.truncate(text.floor_char_boundary(LINE_BYTES));
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn what_it_prints_and_says() {
        let ran = run(shell("echo out; echo err >&2; exit 3"), LONG, 100).await;
        let ran = ran.unwrap();
        assert_eq!(
            (ran.stdout, ran.stderr),
            (b"out\n".to_vec(), b"err\n".to_vec())
        );
        assert_eq!(ran.status.code(), Some(3));
        let chatty = "yes no | head -c 1000000 >&2; echo done";
        let ran = run(shell(chatty), LONG, 100).await.unwrap();
        assert_eq!(ran.stdout, b"done\n");
        assert_eq!(ran.stderr.len(), OUTPUT_BYTES);
    }

    #[tokio::test]
    async fn a_program_gets_its_input_and_may_leave_it() {
        let input = "x".repeat(1 << 20);
        let ran = run_with_input(shell("wc -c"), input.as_bytes(), LONG).await;
        assert_eq!(ran.unwrap().stdout.trim_ascii(), b"1048576");
        let leaves = "exec 0<&-; yes no | head -c 1000000; exit 4";
        let ran = run_with_input(shell(leaves), input.as_bytes(), LONG).await;
        let ran = ran.unwrap();
        assert_eq!(
            (ran.status.code(), ran.stdout.len()),
            (Some(4), OUTPUT_BYTES)
        );
        let slow = run_with_input(shell("sleep 1000"), b"", Duration::from_millis(50)).await;
        assert!(matches!(slow.unwrap_err(), ProgramError::TimedOut(_)));
    }

    #[tokio::test]
    async fn a_program_without_end_is_ended() {
        let error = run(shell("yes"), LONG, 1_000).await.unwrap_err();
        assert!(matches!(error, ProgramError::TooMuch(1_000)), "{error}");
    }

    #[tokio::test]
    async fn what_it_started_ends_with_it() {
        // The pipe is open as long as one of the processes lives.
        let (mut reader, writer) = io::pipe().unwrap();
        let mut command = shell("sleep 1000 <&0 & wait");
        command.stdin(Stdio::from(writer));
        let error = run(command, Duration::from_millis(300), 100).await;
        let error = error.unwrap_err();
        assert!(matches!(error, ProgramError::TimedOut(_)), "{error}");
        let closed = tokio::task::spawn_blocking(move || reader.read(&mut [0]));
        let closed = tokio::time::timeout(LONG, closed).await.unwrap();
        assert_eq!(closed.unwrap().unwrap(), 0);
    }
}
