//! Settings of Ruby workers. Main type: [`RubyWorkerSettings`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::User;

use crate::defaults::{
    CALL_TIME_MAX, ENVIRONMENTS_MAX, FRAME_MAX, MEMORY_MAX, OUTPUT_MAX, PROCESSES_MAX,
    START_TIME_MAX, USER_PROCESSES_MAX,
};
use crate::hidden_files::HiddenPaths;

/// Interpreters in order of preference: those of the vendors' packages have their own Puppet.
const INTERPRETERS: [&str; 2] = ["/opt/puppetlabs/puppet/bin/ruby", "/usr/bin/ruby"];

/// The interpreter and the bounds of its processes.
#[derive(Debug, Clone)]
pub struct RubyWorkerSettings {
    /// The interpreter, as an absolute path.
    pub ruby: PathBuf,
    /// Directory with `puppet.rb`; `None` if the interpreter finds it by itself.
    pub library: Option<PathBuf>,
    /// Session processes at the same time; further sessions wait.
    pub processes_max: usize,
    /// Environment versions that have a process at the same time; the least recently used one ends.
    pub environments_max: usize,
    /// Private memory of a session process in bytes.
    pub memory_max_bytes: u64,
    /// Time of one call, without the time of its callbacks.
    pub call_time_max: Duration,
    /// Time in which `ruby` starts and loads Puppet and an environment.
    pub start_time_max: Duration,
    /// Text that one call may print, in bytes.
    pub output_max_bytes: usize,
    /// Length of one message in bytes: arguments, results, values of variables.
    pub frame_max_bytes: usize,
    /// Processes and threads of `user` at the same time, with those that Ruby code starts; without a user of
    /// their own they are not counted.
    pub user_processes_max: u32,
    /// User of the processes; `None` for the user of this process.
    pub user: Option<RubyUser>,
    /// Files that Ruby code cannot open, except those of its own environment. Without effect on kernels
    /// without Landlock (before Linux 5.13).
    pub hidden_paths: HiddenPaths,
    /// Settings of Puppet that functions may read, such as `confdir` and `strict`, as name and value.
    pub puppet_settings: Vec<(String, String)>,
}

/// An unprivileged user of the machine. The processes get no supplementary groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RubyUser {
    pub uid: u32,
    pub gid: u32,
}

// === impl RubyUser ===

impl RubyUser {
    /// The user with a name.
    ///
    /// # Errors
    /// There is no such user, or the users of the machine cannot be read.
    pub fn find(name: &str) -> Result<Self, RubyUserError> {
        let failed = |cause: String| RubyUserError {
            name: name.to_owned(),
            cause,
        };
        match User::from_name(name) {
            Ok(Some(user)) => Ok(Self {
                uid: user.uid.as_raw(),
                gid: user.gid.as_raw(),
            }),
            Ok(None) => Err(failed("there is no such user".to_owned())),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// A user for Ruby processes that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot run Ruby as the user {name:?}: {cause}")]
pub struct RubyUserError {
    pub name: String,
    pub cause: String,
}

// === impl RubyWorkerSettings ===

impl Default for RubyWorkerSettings {
    /// The interpreter of the vendor's package if it is installed, else that of the system.
    fn default() -> Self {
        let installed = INTERPRETERS.iter().find(|path| Path::new(path).exists());
        Self {
            ruby: PathBuf::from(installed.unwrap_or(&INTERPRETERS[1])),
            library: None,
            processes_max: PROCESSES_MAX,
            environments_max: ENVIRONMENTS_MAX,
            memory_max_bytes: MEMORY_MAX,
            call_time_max: CALL_TIME_MAX,
            start_time_max: START_TIME_MAX,
            output_max_bytes: OUTPUT_MAX,
            frame_max_bytes: FRAME_MAX,
            user_processes_max: USER_PROCESSES_MAX,
            user: None,
            hidden_paths: HiddenPaths::default(),
            puppet_settings: Vec::new(),
        }
    }
}
