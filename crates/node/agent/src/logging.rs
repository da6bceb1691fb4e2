//! Destination and format of log lines.
//!
//! [`init`] installs the process's subscriber; [`LogFiles::reopen`] is the handler of SIGUSR2, so
//! that logrotate can move files away. Invariant: a log line never stops the agent; a full disk
//! loses lines, not tasks.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

/// Log level: pxp-agent's names for `tracing`'s levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLogLevel(LevelFilter);

/// Destination of log lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogOutput {
    /// Standard output, which a service manager collects.
    Stdout,
    /// A file, appended to.
    File(PathBuf),
}

/// Level and destination of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// Lowest level that is logged.
    pub level: AgentLogLevel,
    /// Destination of the lines.
    pub output: LogOutput,
}

/// Reason for which logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file or its directory cannot be written.
    #[error(
        "cannot open log file '{path}'; choose another with --logfile, or '-' for standard output"
    )]
    Open {
        /// Path of the log file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Another subscriber is already installed.
    #[error("a log subscriber is already installed in this process")]
    Installed,
}

/// A file that can be reopened while other threads write to it.
#[derive(Debug, Clone)]
pub struct ReopenableFile {
    path: Arc<Path>,
    file: Arc<Mutex<File>>,
}

/// All log files of the process, for reopening.
#[derive(Debug, Clone, Default)]
pub struct LogFiles(Vec<ReopenableFile>);

// === impl AgentLogLevel ===

impl AgentLogLevel {
    /// Level for a single `--verbose`.
    pub const DEBUG: Self = Self(LevelFilter::DEBUG);
    /// Level of `--verbose --verbose`.
    pub const TRACE: Self = Self(LevelFilter::TRACE);
}

impl Default for AgentLogLevel {
    fn default() -> Self {
        Self(LevelFilter::INFO)
    }
}

impl FromStr for AgentLogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "none" => LevelFilter::OFF,
            // `tracing` has no level above an error that ends the process.
            "fatal" | "error" => LevelFilter::ERROR,
            "warning" => LevelFilter::WARN,
            "info" => LevelFilter::INFO,
            "debug" => LevelFilter::DEBUG,
            "trace" => LevelFilter::TRACE,
            _ => {
                return Err(format!(
                    "'{text}' is not one of none, fatal, error, warning, info, debug, trace"
                ));
            }
        }))
    }
}

// === impl ReopenableFile ===

impl ReopenableFile {
    /// Opens `path` for appending; creates its directory if it is missing.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory)?;
        }
        Ok(Self {
            file: Arc::new(Mutex::new(append(path)?)),
            path: path.into(),
        })
    }

    /// Closes the old file, which may have been renamed, and opens a new one of the configured
    /// name. On failure the old one stays in use.
    pub fn reopen(&self) -> io::Result<()> {
        let fresh = append(&self.path)?;
        *lock(&self.file) = fresh;
        Ok(())
    }

    /// Appends `bytes` in one write, so that lines of several writers do not
    /// mix.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        lock(&self.file).write_all(bytes)
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o640)
        .open(path)
}

/// Locks the file. A writer that panicked leaves at worst a partial line.
fn lock(file: &Mutex<File>) -> std::sync::MutexGuard<'_, File> {
    file.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Write for ReopenableFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.append(buf).map(|()| buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for ReopenableFile {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

// === impl LogFiles ===

impl LogFiles {
    /// Adds a file to those that are reopened.
    pub fn add(&mut self, file: ReopenableFile) {
        self.0.push(file);
    }

    /// Reopens all files; a failure is logged and the old file kept.
    pub fn reopen(&self) {
        for file in &self.0 {
            match file.reopen() {
                Ok(()) => tracing::info!(file = %file.path.display(), "reopened log file"),
                Err(error) => {
                    tracing::error!(file = %file.path.display(), %error, "cannot reopen log file");
                }
            }
        }
    }
}

// === subscriber ===

/// Time format `2026-11-21 06:08:12.545391` in local time, as in pxp-agent.
#[derive(Debug, Clone, Copy)]
pub struct LocalTime;

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S.%6f").fmt(f)
    }
}

impl FormatTime for LocalTime {
    fn format_time(&self, w: &mut Writer<'_>) -> fmt::Result {
        write!(w, "{self}")
    }
}

/// Installs the process-wide subscriber.
pub fn init(config: &LogConfig) -> Result<LogFiles, LogError> {
    let builder = tracing_subscriber::fmt()
        .with_max_level(config.level.0)
        .with_timer(LocalTime)
        .with_ansi(false);
    let mut files = LogFiles::default();
    let installed = match &config.output {
        LogOutput::Stdout => builder.with_writer(io::stdout).try_init(),
        LogOutput::File(path) => {
            let file = ReopenableFile::open(path).map_err(|source| LogError::Open {
                path: path.clone(),
                source,
            })?;
            files.add(file.clone());
            builder.with_writer(file).try_init()
        }
    };
    installed.map_err(|_| LogError::Installed)?;
    Ok(files)
}
