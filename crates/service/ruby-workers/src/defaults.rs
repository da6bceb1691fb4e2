//! Limits of Ruby workers.

use std::time::Duration;

/// Session processes at the same time: one per core of a usual server, and some that wait for the
/// compiler.
pub(crate) const PROCESSES_MAX: usize = 8;

/// Environment versions with a process at the same time. One has about 70 MB, most of it Puppet itself.
pub(crate) const ENVIRONMENTS_MAX: usize = 10;

/// Memory of a session process: Puppet and a large environment have 150 MB.
pub(crate) const MEMORY_MAX: u64 = 512 * 1024 * 1024;

/// Processes and threads of the user that only Ruby processes have: two for each of 10 environments, and 29 for
/// each of 8 sessions. A function that starts some programs needs ten.
pub(crate) const USER_PROCESSES_MAX: u32 = 256;

/// Time of one call without the time that the compiler takes for its callbacks.
pub(crate) const CALL_TIME_MAX: Duration = Duration::from_secs(30);

/// Text that one call may print.
pub(crate) const OUTPUT_MAX: usize = 1024 * 1024;

/// Length of a frame in either direction: the facts of a node with 10 MB, as JSON.
pub(crate) const FRAME_MAX: usize = 16 * 1024 * 1024;

/// Time in which `ruby` starts and loads Puppet and an environment: 0.7 s on an idle machine with 100
/// modules, and a busy machine may take 20 times as long.
pub(crate) const START_TIME_MAX: Duration = Duration::from_secs(30);

/// Time in which the process of an environment answers, which never runs a function: it forks in 5 ms.
pub(crate) const CONTROL_TIME_MAX: Duration = Duration::from_secs(10);

/// Time in which the process of an environment ends its sessions and itself before it is killed.
pub(crate) const END_TIME_MAX: Duration = Duration::from_millis(500);

/// Text of `ruby`'s messages in an error about its start.
pub(crate) const START_MESSAGES_MAX: usize = 4096;

/// Printed text in an error about a process that died: its last lines.
pub(crate) const OUTPUT_TAIL_MAX: usize = 2048;

/// Bytes read at once.
pub(crate) const READ_SIZE: usize = 64 * 1024;

/// Files and directories beside hidden ones, which are listed for the kernel one by one. The directories on
/// the way from the root to the server's data have some hundred entries.
pub(crate) const VISIBLE_PATHS_MAX: usize = 10_000;

/// Functions and templates that the process of an environment loads before it forks.
pub(crate) const PRELOADED_MAX: usize = 1000;

/// Files that are looked at when functions are listed: 100 modules with 200 functions.
pub(crate) const FUNCTION_FILES_MAX: usize = 20_000;

/// Levels of directories below `lib/puppet/functions`.
pub(crate) const FUNCTION_DEPTH_MAX: usize = 16;

/// Nested calls: a function that calls the compiler, which calls a function.
pub(crate) const NESTING_MAX: usize = 50;
