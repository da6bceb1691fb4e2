//! Log lines: where they go and what they look like.
//!
//! [`init`] installs the process's subscriber; [`LogFiles::reopen`] is what
//! SIGUSR2 does, so that logrotate can move files away. The rule that must
//! hold: a log line never stops the agent; a full disk loses lines, not tasks.

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

/// How much is logged: pxp-agent's names for `tracing`'s levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(LevelFilter);

/// Where log lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Standard output, which a service manager collects.
    Stdout,
    /// A file, appended to.
    File(PathBuf),
}

/// What to log and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// How much.
    pub level: Level,
    /// Where to.
    pub output: Output,
}

/// Logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file or its directory cannot be written.
    #[error(
        "cannot open log file '{path}'; choose another with --logfile, or '-' for standard output"
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody was first.
    #[error("a log subscriber is already installed in this process")]
    Installed,
}

/// A file that can be opened anew while others write to it.
#[derive(Debug, Clone)]
pub struct ReopenableFile {
    path: Arc<Path>,
    file: Arc<Mutex<File>>,
}

/// All log files of the process.
#[derive(Debug, Clone, Default)]
pub struct LogFiles(Vec<ReopenableFile>);

// === impl Level ===

impl Level {
    /// What `--verbose` asks for.
    pub const DEBUG: Self = Self(LevelFilter::DEBUG);
    /// What `--verbose --verbose` asks for.
    pub const TRACE: Self = Self(LevelFilter::TRACE);
}

impl Default for Level {
    fn default() -> Self {
        Self(LevelFilter::INFO)
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "none" => LevelFilter::OFF,
            // There is nothing fatal below an error that ends the process.
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
    /// Opens `path` for appending; makes its directory when it is missing.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory)?;
        }
        Ok(Self {
            file: Arc::new(Mutex::new(append(path)?)),
            path: path.into(),
        })
    }

    /// Leaves the old file, which may have been renamed, and goes on in a new
    /// one of the configured name. On failure the old one stays in use.
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

/// A writer that panicked half-way leaves a half line, nothing worse.
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

    /// Reopens all of them; a failure is logged and the old file kept.
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

/// `2026-11-21 06:08:12.545391`, local time, as pxp-agent writes it.
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
        Output::Stdout => builder.with_writer(io::stdout).try_init(),
        Output::File(path) => {
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
