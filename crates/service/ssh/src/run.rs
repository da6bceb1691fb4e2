//! One run from its connection to its clean-up: [`SshActionRun`].
//!
//! Invariant: an [`SshRunEnd`] contains known facts only. A failure before the program began is
//! *not started*; a program whose exit the host did not report is *unknown*, and may still run.

use std::io::Read as _;
use std::sync::Arc;

use environments::BlobStore;
use pcp::Certname;
use pxp::ProcessStream;
use pxp::action::{ActionResult, Sha256};
use pxp::defaults::PROGRAM_HEAD_BYTES;
use pxp::task::ProgramHead;
use secrecy::SecretString;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::capture::{OutputBudget, OutputCapture};
use crate::connection::SshConnection;
use crate::defaults::{
    MAX_OUTPUT_BYTES, STEP_OUTPUT_BYTES, STEP_TIMEOUT, STOP_PATIENCE, UPLOAD_TIMEOUT,
};
use crate::dial::{SshSession, dial};
use crate::exec::{CommandExit, CommandInput, ExecError, RemoteCommand, execute, run_with_limit};
use crate::file_placement;
use crate::host_keys::HostKeys;
use crate::reply_sender::NodeReplySender;
use crate::run_spec::{RemoteProgram, RemoteRunSpec, UploadContent};
use crate::script::{INPUT, NOTHING_TO_END, PLACEMENT, ShellScripts, VARIABLES};
use crate::sudo::SudoDialog;

/// Outcome of a run.
#[derive(Debug)]
pub(crate) enum SshRunEnd {
    Result(Box<ActionResult>),
    /// The program did not begin; the cause.
    NotStarted(String),
    /// The program may have begun, and may still run; the cause.
    Unknown(String),
}

/// A run to carry out.
pub(crate) struct SshActionRun {
    pub(crate) certname: Certname,
    pub(crate) connection: Arc<SshConnection>,
    pub(crate) work: RemoteRunSpec,
    pub(crate) blobs: BlobStore,
    pub(crate) host_keys: HostKeys,
    pub(crate) budget: Arc<OutputBudget>,
    pub(crate) voice: NodeReplySender,
    /// Credit for live output.
    pub(crate) credit: watch::Receiver<u64>,
    pub(crate) cancel: CancellationToken,
}

/// Clean-up that remains after the outcome is reported.
pub(crate) struct RunCleanup {
    session: SshSession,
    connection: Arc<SshConnection>,
    directory: Option<String>,
    certname: Certname,
    nonce: String,
}

const CANCELLED: &str = "it was cancelled before it started";

// === impl SshActionRun ===

impl SshActionRun {
    /// Carries out the run. Returns before the clean-up, so that the outcome is not delayed by it.
    pub(crate) async fn execute(self) -> (SshRunEnd, Option<RunCleanup>) {
        let connection = self.connection();
        let dialled = tokio::select! {
            dialled = dial(&self.certname, &self.connection, &self.host_keys) => dialled,
            () = self.cancel.cancelled() => return (SshRunEnd::NotStarted(CANCELLED.to_owned()), None),
        };
        let session = match dialled {
            Ok(session) => session,
            Err(error) => return (SshRunEnd::NotStarted(error.to_string()), None),
        };
        let nonce = Uuid::new_v4().simple().to_string();
        let mut left = RunCleanup {
            session,
            connection: Arc::clone(&connection),
            directory: None,
            certname: self.certname.clone(),
            nonce: nonce.clone(),
        };
        let host = HostSession {
            session: &left.session,
            scripts: ShellScripts::new(&connection, &nonce),
            connection: &connection,
        };
        let mut made = None;
        let ready = tokio::select! {
            ready = self.prepare(&host, &mut made) => ready,
            () = self.cancel.cancelled() => Err(CANCELLED.to_owned()),
        };
        let end = match (ready, &made) {
            (Ok(ready), Some(directory)) => self.run(&host, directory, ready).await,
            (Ok(_), None) => SshRunEnd::NotStarted("it has no directory".to_owned()),
            (Err(why), _) => SshRunEnd::NotStarted(why),
        };
        left.directory = made;
        (end, Some(left))
    }

    /// The connection, with the user of the request if it names one.
    fn connection(&self) -> Arc<SshConnection> {
        match &self.work.run_as {
            Some(user) => Arc::new(SshConnection {
                run_as: Some(user.clone()),
                ..SshConnection::clone(&self.connection)
            }),
            None => Arc::clone(&self.connection),
        }
    }

    /// Prepares everything that the program needs. `made` is set to the run's directory as soon as
    /// it exists.
    async fn prepare(
        &self,
        host: &HostSession<'_>,
        made: &mut Option<String>,
    ) -> Result<PreparedProgram, String> {
        let directory = host.make_directory().await?;
        let directory = made.insert(directory);
        for file in &self.work.files {
            let path = file.path.as_str();
            match &file.content {
                UploadContent::Stored(sha256) => {
                    let (content, size) = open(self.blobs.clone(), *sha256).await?;
                    let input = CommandInput::File(content);
                    host.upload(directory, path, true, input, size).await?;
                }
                UploadContent::Inline(bytes) => {
                    host.upload_bytes(directory, path, bytes.to_vec()).await?
                }
            }
        }
        if let RemoteProgram::PlaceFiles(items) = &self.work.program {
            let script = file_placement::script(directory, items).into_bytes();
            host.upload_bytes(directory, PLACEMENT, script).await?;
        }
        let rendered = self.work.render(directory);
        let mut ready = PreparedProgram {
            head: self.head().await?,
            variables: false,
            input: false,
            stdin: Vec::new(),
        };
        if !rendered.variables.is_empty() {
            let bytes = rendered.variables.into_bytes();
            host.upload_bytes(directory, VARIABLES, bytes).await?;
            ready.variables = true;
        }
        if self.connection.tty && !rendered.stdin.is_empty() {
            host.upload_bytes(directory, INPUT, rendered.stdin).await?;
            ready.input = true;
        } else {
            ready.stdin = rendered.stdin;
        }
        Ok(ready)
    }

    /// The first bytes of the program's file; empty if the program is not a file.
    async fn head(&self) -> Result<ProgramHead, String> {
        let mut head = Vec::new();
        match self.work.executed_file() {
            Some(UploadContent::Stored(sha256)) => {
                let (content, _) = open(self.blobs.clone(), *sha256).await?;
                let read = tokio::task::spawn_blocking(move || {
                    let mut head = Vec::new();
                    let bytes = PROGRAM_HEAD_BYTES as u64;
                    content.take(bytes).read_to_end(&mut head).map(|_| head)
                });
                let read = read.await.map_err(|error| error.to_string())?;
                head = read.map_err(|error| format!("the task's file cannot be read: {error}"))?;
            }
            Some(UploadContent::Inline(bytes)) => {
                head.extend_from_slice(&bytes[..bytes.len().min(PROGRAM_HEAD_BYTES)]);
            }
            None => {}
        }
        Ok(ProgramHead::read(&head))
    }

    async fn run(
        &self,
        host: &HostSession<'_>,
        directory: &str,
        ready: PreparedProgram,
    ) -> SshRunEnd {
        let (voice, granted) = (self.voice.clone(), self.credit.clone());
        let budget = Arc::clone(&self.budget);
        let mut capture = OutputCapture::for_run(MAX_OUTPUT_BYTES, budget, voice, granted);
        let program: &RemoteProgram = &self.work.program;
        let (scripts, head) = (&host.scripts, &ready.head);
        let line = scripts.run(directory, program, head, ready.variables, ready.input);
        let line = host.line(line, self.connection.tty, CommandInput::Bytes(ready.stdin));
        let mut cancelled = false;
        let exit = {
            let mut running = Box::pin(execute(host.session, line, &mut capture));
            tokio::select! {
                exit = &mut running => exit,
                () = self.cancel.cancelled() => {
                    let ending = async {
                        let (killed, exit) =
                            tokio::join!(host.kill(directory), timeout(STOP_PATIENCE, &mut running));
                        (killed, exit)
                    };
                    match ending.await {
                        (killed, Ok(exit)) => {
                            cancelled = matches!(killed, Ok(true));
                            exit
                        }
                        (Ok(_), Err(_)) => return SshRunEnd::Unknown(
                            "it was told to end and did not within some seconds; it may still run"
                                .to_owned(),
                        ),
                        (Err(why), Err(_)) => return SshRunEnd::Unknown(format!(
                            "it could not be told to end ({why}); it may still run"
                        )),
                    }
                }
            }
        };
        match exit {
            Ok(CommandExit::Lost) => SshRunEnd::Unknown(
                "the SSH connection was lost while it ran, and nothing on the node keeps the \
                 outcome; it may still run"
                    .to_owned(),
            ),
            Ok(exit) => {
                let (code, signal) = to_exit_code(exit);
                if let Some(reason) = self.work.explain_not_run(&ready.head, code) {
                    capture.append(ProcessStream::Stderr, reason.as_bytes());
                    capture.send_live().await;
                }
                let mut result = capture.result(code);
                result.signal = signal;
                result.cancelled = cancelled;
                SshRunEnd::Result(Box::new(result))
            }
            Err(error) => SshRunEnd::NotStarted(error.to_string()),
        }
    }
}

/// Input of the program, besides its uploaded files.
struct PreparedProgram {
    /// First bytes of the program's file, parsed.
    head: ProgramHead,
    variables: bool,
    /// True if standard input comes from an uploaded file.
    input: bool,
    stdin: Vec<u8>,
}

/// Opens a file of a task, and returns its size.
async fn open(blobs: BlobStore, sha256: Sha256) -> Result<(std::fs::File, u64), String> {
    let opened = tokio::task::spawn_blocking(move || blobs.open_blob(&sha256)).await;
    match opened.map_err(|error| error.to_string())? {
        Ok(Some(blob)) => Ok((blob.content, blob.size_bytes)),
        Ok(None) => Err("the server keeps a file of the task no longer; run it again".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Converts the exit to an agent's exit code and signal.
fn to_exit_code(exit: CommandExit) -> (i64, Option<i32>) {
    match exit {
        CommandExit::Code(code) => (i64::from(code), None),
        CommandExit::Signal(Some(signal)) => (128 + i64::from(signal), Some(signal)),
        CommandExit::Signal(None) | CommandExit::Lost => (255, None),
    }
}

/// A session with a host during one run.
struct HostSession<'a> {
    session: &'a SshSession,
    scripts: ShellScripts<'a>,
    connection: &'a SshConnection,
}

// === impl HostSession ===

impl HostSession<'_> {
    fn line(&self, text: String, tty: bool, input: CommandInput) -> RemoteCommand<'_> {
        let dialog = || SudoDialog::new(self.scripts.prompt(), self.scripts.marker());
        let password: Option<&SecretString> = self.connection.sudo_password.as_ref();
        RemoteCommand {
            text,
            dialog: self.scripts.changes_user().then(dialog),
            password,
            tty,
            input,
        }
    }

    /// Runs a step without a terminal; returns its exit and output.
    async fn step(
        &self,
        text: String,
        input: CommandInput,
        limit: std::time::Duration,
    ) -> Result<(CommandExit, OutputCapture), String> {
        let mut capture = OutputCapture::for_step(STEP_OUTPUT_BYTES);
        let line = self.line(text, false, input);
        let exit =
            run_with_limit(limit, Box::pin(execute(self.session, line, &mut capture))).await?;
        Ok((exit, capture))
    }

    async fn make_directory(&self) -> Result<String, String> {
        let line = self.scripts.make_directory();
        let none = CommandInput::Bytes(Vec::new());
        let (exit, capture) = self.step(line, none, STEP_TIMEOUT).await?;
        let made = String::from_utf8_lossy(capture.stdout());
        let made = made.trim_end_matches('\n');
        let sound = made.starts_with('/') && !made.contains(|c: char| c.is_control());
        if exit == CommandExit::Code(0) && sound {
            return Ok(made.to_owned());
        }
        Err(format!(
            "the host made no directory for the task's files: {}",
            describe_failure(exit, &capture)
        ))
    }

    async fn upload_bytes(
        &self,
        directory: &str,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<(), String> {
        let size = bytes.len() as u64;
        let input = CommandInput::Bytes(bytes);
        self.upload(directory, path, false, input, size).await
    }

    async fn upload(
        &self,
        directory: &str,
        path: &str,
        executable: bool,
        input: CommandInput,
        size_bytes: u64,
    ) -> Result<(), String> {
        let line = self.scripts.upload(directory, path, executable);
        let (exit, capture) = self.step(line, input, UPLOAD_TIMEOUT).await?;
        let written = String::from_utf8_lossy(capture.stdout());
        if exit == CommandExit::Code(0) && written.trim().parse() == Ok(size_bytes) {
            return Ok(());
        }
        Err(format!(
            "{path:?} could not be put on the host: {}",
            describe_failure(exit, &capture)
        ))
    }

    /// Ends the run's process group; `false` if it had ended already.
    async fn kill(&self, directory: &str) -> Result<bool, String> {
        let line = self.scripts.kill(directory);
        let none = CommandInput::Bytes(Vec::new());
        match self.step(line, none, STOP_PATIENCE).await? {
            (CommandExit::Code(0), _) => Ok(true),
            (CommandExit::Code(NOTHING_TO_END), capture) if capture.stderr().is_empty() => {
                Ok(false)
            }
            (exit, capture) => Err(describe_failure(exit, &capture)),
        }
    }
}

// === impl RunCleanup ===

impl RunCleanup {
    /// Removes the run's directory on the host and disconnects.
    pub(crate) async fn clean_up(self) {
        if let Some(directory) = &self.directory {
            let host = HostSession {
                session: &self.session,
                scripts: ShellScripts::new(&self.connection, &self.nonce),
                connection: &self.connection,
            };
            let line = host.scripts.clean_up(directory);
            let none = CommandInput::Bytes(Vec::new());
            let problem = match host.step(line, none, STEP_TIMEOUT).await {
                Ok((CommandExit::Code(0), _)) => None,
                Ok((exit, capture)) => Some(describe_failure(exit, &capture)),
                Err(why) => Some(why),
            };
            if let Some(why) = problem {
                let certname = &self.certname;
                tracing::warn!(%certname, directory, why, "a task's directory stays on its host");
            }
        }
        self.session.close().await;
    }
}

/// Describes the failure of a step: exit code and standard error.
fn describe_failure(exit: CommandExit, capture: &OutputCapture) -> String {
    let words = crate::sanitize::sanitize_output(capture.stderr());
    let how = match exit {
        CommandExit::Code(code) => format!("exit code {code}"),
        CommandExit::Signal(_) => "ended by a signal".to_owned(),
        CommandExit::Lost => ExecError::Lost.to_string(),
    };
    if words.is_empty() {
        how
    } else {
        format!("{how}, {words}")
    }
}
