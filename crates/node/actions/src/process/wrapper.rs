//! The process between the agent and an action: [`wrapper_main`].
//!
//! It reads one [`WrapperRequest`] from its stdin, prepares everything, claims the entry, runs the
//! action, and leaves an [`ExitRecord`]. SIGTERM makes it cancel the action, SIGUSR1 kill it at
//! once. It reports progress as [`WrapperNotice`] lines on its stdout, which need not be read.
//! Invariants: nothing runs before the claim, and after the claim there is either a record or a
//! wrapper.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use rustix::process::{Signal, WaitOptions, WaitStatus};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;

use super::exit_record::RecordReservation;
use super::layout::lay_out;
use super::output_limit::OutputLimit;
use super::termination::{ActionTermination, RemainingProcesses, TerminationStep};
use super::{
    ExitRecord, OutputLoss, PrivateDirectoryGuard, ProcessIdentity, WrapperRequest, program, tree,
};
use crate::defaults::OUTPUT_LIMIT_INTERVAL;
use crate::spool::{ActionClaim, ActionClaimError, EntryDurability, STDERR_FILE, STDOUT_FILE};

/// The first descriptor that is inherited unintentionally: after stdin, stdout and stderr.
const FIRST_INHERITED: i32 = 3;

/// One line of progress on the wrapper's stdout.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum WrapperNotice {
    /// The action is about to start.
    Claimed(ProcessIdentity),
    /// The action was not and will not be started.
    NotRun(String),
    /// The exit record is in place.
    Ended,
}

/// Runs the wrapper. `args` is the command line after the hidden subcommand: the spool entry. Must
/// be called before any thread is started.
pub(crate) fn wrapper_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(entry) = args.next().map(PathBuf::from) else {
        return ExitCode::from(2);
    };
    match supervise(&entry) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            notify(&WrapperNotice::NotRun(error.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// Reason for which an action was not started.
#[derive(Debug, thiserror::Error)]
enum ActionStartError {
    #[error(transparent)]
    Order(#[from] super::wrapper_request::ReadRequestError),
    #[error("cannot become the supervisor of the action: {0}")]
    Supervisor(io::Error),
    #[error("cannot write to {place}: {source}")]
    Spool { place: PathBuf, source: io::Error },
    #[error(transparent)]
    LayOut(#[from] super::layout::LayOutError),
    #[error(transparent)]
    Claim(#[from] ActionClaimError),
}

fn supervise(entry: &Path) -> Result<(), ActionStartError> {
    // All descriptors of the agent are close-on-exec; this covers those that the agent's parent
    // left open.
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
    let (order, stdin) = WrapperRequest::read(io::stdin().lock())?;
    // A new session: signals to the agent's terminal or group do not arrive. It fails only for a
    // group leader, for which that is already so.
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| ActionStartError::Supervisor(error.into()))?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ActionStartError::Supervisor)?
        .block_on(run(entry, order, stdin))
}

async fn run(entry: &Path, order: WrapperRequest, stdin: Vec<u8>) -> Result<(), ActionStartError> {
    let mut signals = WrapperSignals::listen().map_err(ActionStartError::Supervisor)?;
    let mut prepared = PreparedAction::make(entry, &order)?;
    let identity = ProcessIdentity::current().map_err(ActionStartError::Supervisor)?;
    ActionClaim::Started(identity.clone()).take(entry, order.durability)?;
    // For users and tools that look for pxp-agent's file.
    let _ = std::fs::write(entry.join("pid"), format!("{}\n", identity.pid));
    notify(&WrapperNotice::Claimed(identity));

    let record = match prepared.start(entry, &order, stdin) {
        Ok(main) => {
            let record = watch(&mut signals, main, &order, &mut prepared.limit).await;
            explain(entry, &order, &record);
            record
        }
        Err(error) => write_start_failure(entry, &order, &error),
    };
    // Before space is freed: the action had only the space that there is now.
    let full = OutputLoss::probe(entry);
    prepared.limit.enforce();
    let mut record = with_output_sizes(record, entry);
    // Before the record, so that it never counts bytes that a power loss removes. If the disk
    // fails, the record counts more than there is, and so the result shows the loss.
    let unwritten = match order.durability {
        EntryDurability::Kept => prepared
            .limit
            .sync()
            .err()
            .as_ref()
            .and_then(OutputLoss::of),
        EntryDurability::Scratch => None,
    };
    record.loss = full.or(unwritten);
    if prepared.private_directory.take().is_none() && order.remove_layout {
        for file in &order.layout {
            // Remaining files are removed with the entry.
            let _ = std::fs::remove_file(entry.join(&file.destination));
        }
    }
    if let Ok(settled) = prepared.reservation.persist(&record, order.durability) {
        notify(&WrapperNotice::Ended);
        if order.durability.is_kept() {
            // Too late for a better answer: the record exists for the agent, and a machine that
            // loses it now has lost the action's effects too.
            let _ = settled.sync();
        }
    }
    Ok(())
}

/// Notifies the agent, if it is still running.
fn notify(notice: &WrapperNotice) {
    let mut line = serde_json::to_vec(notice).expect("a notice holds only strings and numbers");
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
}

// === preparation ===

/// All steps that can fail, completed before the claim.
struct PreparedAction {
    reservation: RecordReservation,
    stdout: File,
    stderr: File,
    limit: OutputLimit,
    /// Directory of another user's files.
    private_directory: Option<PrivateDirectoryGuard>,
}

impl PreparedAction {
    fn make(entry: &Path, order: &WrapperRequest) -> Result<Self, ActionStartError> {
        let at = |place: PathBuf| move |source| ActionStartError::Spool { place, source };
        let reservation = RecordReservation::reserve(entry).map_err(at(entry.to_owned()))?;
        let held = match &order.private {
            Some(private) => Some(private.create().map_err(at(private.directory.clone()))?),
            None => None,
        };
        let stdout = entry.join(STDOUT_FILE);
        let stderr = entry.join(STDERR_FILE);
        let (stdout, stderr) = (
            output(&stdout).map_err(at(stdout))?,
            output(&stderr).map_err(at(stderr))?,
        );
        ready(order, entry, [&stdout, &stderr])?;
        let limit = OutputLimit::set(entry, [&stdout, &stderr], order.max_output_bytes)
            .map_err(at(entry.to_owned()))?;
        Ok(Self {
            reservation,
            stdout,
            stderr,
            limit,
            private_directory: held,
        })
    }

    /// Starts the action and feeds its stdin from a thread, because an action
    /// that does not read must not keep the wrapper from waiting for it.
    fn start(&self, entry: &Path, order: &WrapperRequest, stdin: Vec<u8>) -> io::Result<i32> {
        let program = entry.join(&order.program);
        let spawned = match self.spawn(Command::new(&program), order) {
            Err(error) if program::runs_by_shell(&program, &error) => {
                let mut shell = Command::new(program::SHELL);
                shell.arg(&program);
                self.spawn(shell, order)
            }
            spawned => spawned,
        };
        let mut child = spawned?;
        feed(&mut child, stdin);
        Ok(i32::try_from(child.id()).expect("a pid fits an i32"))
    }

    fn spawn(&self, mut command: Command, order: &WrapperRequest) -> io::Result<Child> {
        command
            .args(&order.args)
            .env_clear()
            .envs(order.env.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(self.stdout.try_clone()?)
            .stderr(self.stderr.try_clone()?)
            .spawn()
    }
}

/// Copies the files, for the user that runs them.
fn ready(
    order: &WrapperRequest,
    entry: &Path,
    outputs: [&File; 2],
) -> Result<(), ActionStartError> {
    let Some(private) = &order.private else {
        return Ok(lay_out(&order.layout, entry)?);
    };
    lay_out(&order.layout, &private.directory)?;
    let handed = private.hand_over().and_then(|()| {
        outputs
            .into_iter()
            .try_for_each(|it| private.give_output(it))
    });
    handed.map_err(|source| ActionStartError::Spool {
        place: private.directory.clone(),
        source,
    })
}

/// Opens an output file for appending, so that two processes never overwrite each other.
fn output(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        // It may hold values that the task marks as secret.
        .mode(0o600)
        .open(path)
}

fn feed(child: &mut Child, bytes: Vec<u8>) {
    let Some(mut stdin) = child.stdin.take() else {
        return;
    };
    if !bytes.is_empty() {
        std::thread::spawn(move || {
            // The action may end without reading its stdin.
            let _ = stdin.write_all(&bytes);
        });
    }
}

/// Record of a program that cannot be started, by the shell's convention: 127 for a missing
/// program, 126 for one that cannot be executed, and the reason on stderr.
fn write_start_failure(entry: &Path, order: &WrapperRequest, error: &io::Error) -> ExitRecord {
    let program = entry.join(&order.program);
    let text = program::describe_start_failure(&program, error) + "\n";
    if let Ok(mut stderr) = output(&entry.join(STDERR_FILE)) {
        let _ = stderr.write_all(text.as_bytes());
    }
    let exitcode = if error.kind() == io::ErrorKind::NotFound {
        127
    } else {
        126
    };
    ExitRecord::not_run(exitcode, None)
}

/// Adds to standard error the reason for which the program's interpreter did not run it, if the
/// program ended because of that.
fn explain(entry: &Path, order: &WrapperRequest, record: &ExitRecord) {
    if record.signal.is_some() || record.cancelled || record.timed_out {
        return;
    }
    let search = order.env.iter().find(|(name, _)| name == "PATH");
    let search = search.map(|(_, directories)| directories.as_str());
    let program = entry.join(order.resolved_program());
    let Some(text) = program::explain_exit(&program, record.exitcode, search) else {
        return;
    };
    if let Ok(mut stderr) = output(&entry.join(STDERR_FILE)) {
        let _ = writeln!(stderr, "{text}");
    }
}

fn with_output_sizes(mut record: ExitRecord, entry: &Path) -> ExitRecord {
    let size = |name| std::fs::metadata(entry.join(name)).map_or(0, |file| file.len());
    record.stdout_bytes = size(STDOUT_FILE);
    record.stderr_bytes = size(STDERR_FILE);
    record
}

// === waiting for the end ===

struct WrapperSignals {
    child: tokio::signal::unix::Signal,
    cancel: tokio::signal::unix::Signal,
    kill: tokio::signal::unix::Signal,
}

impl WrapperSignals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            child: signal(SignalKind::child())?,
            cancel: signal(SignalKind::terminate())?,
            kill: signal(SignalKind::user_defined1())?,
        })
    }
}

async fn watch(
    signals: &mut WrapperSignals,
    main: i32,
    order: &WrapperRequest,
    limit: &mut OutputLimit,
) -> ExitRecord {
    let root = rustix::process::getpid().as_raw_pid();
    let deadline = order.timeout().map(|timeout| Instant::now() + timeout);
    let mut ending = ActionTermination::new(deadline, order.stop_grace());
    let mut reaper = ChildReaper { main, status: None };
    let mut look = tokio::time::interval(OUTPUT_LIMIT_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let tree = reaper.reap();
        let wake = match ending.next_step(Instant::now(), tree) {
            TerminationStep::Finish => break,
            TerminationStep::Wait(at) => at,
            TerminationStep::Terminate(at) => {
                tree::signal_descendants(root, Signal::TERM);
                // A stopped process handles SIGTERM only after it is continued.
                tree::signal_descendants(root, Signal::CONT);
                Some(at)
            }
            TerminationStep::Kill(at) => {
                tree::kill_descendants(root);
                Some(at)
            }
        };
        let woken = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = signals.kill.recv() => ending.cancel(true),
            _ = signals.cancel.recv() => ending.cancel(false),
            _ = signals.child.recv() => {}
            _ = look.tick() => limit.enforce(),
            () = woken => {}
        }
    }
    let mut record = reaper.record();
    record.cancelled = ending.is_cancelled();
    record.timed_out = ending.has_timed_out();
    if record.cancelled || record.timed_out {
        record.survivors = tree::count_descendants(root);
    }
    record
}

/// Collects ended children: the action itself and, because the wrapper is a
/// subreaper, every orphan of its tree.
struct ChildReaper {
    main: i32,
    status: Option<WaitStatus>,
}

impl ChildReaper {
    fn reap(&mut self) -> RemainingProcesses {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_pid() == self.main => {
                    self.status = Some(status);
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) if self.status.is_some() => return RemainingProcesses::LeftBehind,
                Ok(None) => return RemainingProcesses::Running,
                Err(_no_children) => return RemainingProcesses::Empty,
            }
        }
    }

    fn record(&self) -> ExitRecord {
        let mut record = ExitRecord::not_run(0, None);
        let status = self
            .status
            .expect("the tree is only left when the main process was reaped");
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => record.exitcode = code,
            (None, Some(signal)) => {
                record.exitcode = 128 + signal;
                record.signal = Some(signal);
            }
            (None, None) => unreachable!("a reaped process exited or was ended by a signal"),
        }
        record
    }
}
