//! Errors of Ruby workers: [`RubyWorkerError`] for processes, [`RubyCallError`] for calls,
//! [`RubyCallbackError`] for questions of Ruby code.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pcore::RichDataError;

use crate::hidden_files::HideFilesError;

/// A process for Ruby code cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum RubyWorkerError {
    #[error(
        "no Ruby at {path}: code in Ruby needs it; install Ruby with Puppet's or OpenVox's library \
         (package puppet-agent or openvox-agent; on Debian and Ubuntu also ruby and puppet)"
    )]
    NotInstalled { path: PathBuf },
    #[error(
        "{ruby} does not find Puppet's library ({message}): install the package puppet-agent or \
         openvox-agent (on Debian and Ubuntu also puppet), or set the directory of puppet.rb"
    )]
    LibraryMissing { ruby: PathBuf, message: String },
    #[error("Ruby code cannot be kept from the files of this server: {0}")]
    HideFiles(HideFilesError),
    #[error("{ruby} cannot be started: {source}")]
    Start { ruby: PathBuf, source: io::Error },
    #[error("the Ruby process of environment {environment} ended while it started: {message}")]
    EndedAtStart {
        environment: String,
        message: String,
    },
    #[error(
        "the Ruby process of environment {environment} did not answer within {} s",
        after.as_secs()
    )]
    Silent {
        environment: String,
        after: Duration,
    },
    #[error("environment {environment} cannot be loaded in Ruby: {message}")]
    Environment {
        environment: String,
        message: String,
    },
    #[error(
        "{max} Ruby processes are in use, and none became free within {} s; raise the number of \
         processes",
        after.as_secs()
    )]
    Busy { max: usize, after: Duration },
    #[error("the wait for Ruby was interrupted")]
    Interrupted,
    #[error("the connection to the Ruby process of environment {environment} failed: {source}")]
    Connection {
        environment: String,
        source: io::Error,
    },
}

/// An exception that Ruby code raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RubyException {
    /// Name of its class.
    pub class: String,
    pub message: String,
    /// Innermost file of the environment in its backtrace; `None` if there is none.
    pub file: Option<PathBuf>,
    pub line: Option<u32>,
}

/// A call of Ruby code failed. `callee` is the function or template.
#[derive(Debug, thiserror::Error)]
pub enum RubyCallError {
    /// Ruby code raised an exception. The session goes on.
    #[error("{callee}: {exception}")]
    Raised {
        callee: String,
        exception: RubyException,
    },
    /// Ruby code reached for a part of the compiler that it cannot have. The session goes on.
    #[error(
        "{callee} uses {what}{}, which is inside the compiler: compile the node with a puppetserver",
        shown_place(file.as_ref(), *line)
    )]
    NotIsolated {
        callee: String,
        what: String,
        file: Option<PathBuf>,
        line: Option<u32>,
    },
    /// The result is no value of the language. The session goes on.
    #[error("{callee} returned no value of the Puppet language: {message}")]
    NotAValue { callee: String, message: String },
    #[error("{callee} called exit{}", shown_place(file.as_ref(), *line))]
    Exited {
        callee: String,
        file: Option<PathBuf>,
        line: Option<u32>,
    },
    #[error(
        "{callee}{} took longer than {} s",
        shown_place(file.as_ref(), None),
        after.as_secs_f64()
    )]
    TimedOut {
        callee: String,
        file: Option<PathBuf>,
        after: Duration,
    },
    #[error(
        "the Ruby process ended {how} in {callee}{}{}",
        shown_place(file.as_ref(), None),
        shown_output(output)
    )]
    Died {
        callee: String,
        file: Option<PathBuf>,
        how: String,
        /// The last lines that it printed.
        output: String,
    },
    #[error(
        "{callee}{} needs more than {} MB of memory",
        shown_place(file.as_ref(), *line),
        max / 1024 / 1024
    )]
    OutOfMemory {
        callee: String,
        file: Option<PathBuf>,
        line: Option<u32>,
        max: u64,
    },
    #[error("{callee}{} printed more than {max} bytes", shown_place(file.as_ref(), None))]
    TooMuchOutput {
        callee: String,
        file: Option<PathBuf>,
        max: usize,
    },
    #[error("a value of {callee} is longer than {max} bytes")]
    TooLong { callee: String, max: usize },
    #[error("{callee} wrote to the connection of its process: {message}")]
    BadMessage { callee: String, message: String },
    /// An argument or answer cannot be passed to Ruby. The session goes on.
    #[error("a value cannot be passed to {callee}: {source}")]
    Unpassable {
        callee: String,
        source: RichDataError,
    },
    /// A callback ended the call. The session goes on.
    #[error("a callback ended the call of {callee}")]
    Aborted { callee: String, abort: RubyAbort },
    #[error("{callee} is nested deeper than {max} calls between Ruby and the compiler")]
    TooDeep { callee: String, max: usize },
    /// Another thread ended the session.
    #[error("{callee}{} was interrupted", shown_place(file.as_ref(), None))]
    Interrupted {
        callee: String,
        file: Option<PathBuf>,
    },
    #[error("{callee} was called in a session that an earlier call ended")]
    Ended { callee: String },
    /// A call inside this one ended the process.
    #[error("{cause}")]
    EndedInside { callee: String, cause: String },
    /// A block was left by `break`, `return` or `throw`, which end the function that called the block. The
    /// session goes on.
    #[error("a block of {callee} was left")]
    BlockLeft { callee: String },
}

/// Failure of a callback.
#[derive(Debug)]
pub enum RubyCallbackError {
    /// Raised in Ruby with this message, where the code may rescue it.
    Raise(String),
    /// Ends the call at once. The session's call fails with [`RubyCallError::Aborted`].
    Abort(RubyAbort),
}

/// The caller's own reason for ending a call: an error, or a `break` or `return` of its language.
pub struct RubyAbort(pub Box<dyn Any + Send>);

// === impl RubyAbort ===

impl fmt::Debug for RubyAbort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RubyAbort")
    }
}

// === impl RubyException ===

impl fmt::Display for RubyException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        f.write_str(&shown_place(self.file.as_ref(), self.line))
    }
}

fn shown_place(file: Option<&PathBuf>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!(" (file: {}, line: {line})", file.display()),
        (Some(file), None) => format!(" (file: {})", file.display()),
        (None, Some(line)) => format!(" (line: {line})"),
        (None, None) => String::new(),
    }
}

fn shown_output(output: &str) -> String {
    if output.is_empty() {
        String::new()
    } else {
        format!(", after printing: {}", output.trim_end())
    }
}
