//! Every limit of a diagnosis, with its reason.

use std::time::Duration;

/// Deadline of a check that examines only this machine. A healthy disk answers within milliseconds;
/// a mount whose server is unreachable never does.
pub const LOCAL_DEADLINE: Duration = Duration::from_secs(5);

/// Deadline of a check that queries other machines: name resolution alone waits 5 s for each
/// unreachable server.
pub const REMOTE_DEADLINE: Duration = Duration::from_secs(15);

/// Number of checks that run concurrently. They wait more than they work; with about 15 checks and
/// the deadlines above, a diagnosis in which every check hangs ends within half a minute.
pub const CHECKS_AT_ONCE: usize = 8;

/// Maximum number of entries that are examined in one directory. The CA of 50,000 nodes has as many
/// certificates in one directory.
pub const DIRECTORY_ENTRIES: usize = 100_000;

/// Maximum number of bytes that are read of `/etc/passwd` or `/etc/group`: 16 MiB are about 200,000
/// accounts.
pub const ACCOUNT_FILE_BYTES: u64 = 16 << 20;

/// Number of paths named in one finding; the others are counted.
pub const PATHS_SHOWN: usize = 3;

/// Free bytes below which writing may fail within hours: a deployment of code takes about 100 MB.
pub const DISK_PROBLEM_BYTES: u64 = 100 << 20;
/// Free bytes below which a warning is due: a day of results of a large fleet.
pub const DISK_NOTE_BYTES: u64 = 1 << 30;
/// Free inodes below which writing may fail: a version of code has about 10,000 files.
pub const DISK_PROBLEM_INODES: u64 = 1_000;
/// Number of free inodes below which a warning is due.
pub const DISK_NOTE_INODES: u64 = 20_000;

/// Time before the expiry of a certificate or revocation list at which it must be renewed at once:
/// a week includes a working day, whatever the holidays are.
pub const EXPIRY_PROBLEM: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Time before the expiry at which a warning is due: a month, at which web certificates are
/// renewed.
pub const EXPIRY_NOTE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Difference of two clocks at which a warning is due. Responses give whole seconds, and take some
/// seconds themselves.
pub const CLOCK_NOTE: Duration = Duration::from_secs(5);
/// Difference of two clocks at which failures begin: tokens of identity providers are valid for
/// five minutes.
pub const CLOCK_PROBLEM: Duration = Duration::from_secs(300);

/// Maximum number of listening sockets that are examined: more than the number of ports of one
/// protocol.
pub const SOCKETS: usize = 1 << 17;
/// Maximum number of processes whose open files are examined: Linux's default limit of process ids
/// on a large machine.
pub const PROCESSES: usize = 1 << 22;

/// Maximum number of bytes of a program's output, such as that of `systemctl show`, whose
/// properties are some KiB.
pub const PROGRAM_OUTPUT_BYTES: u64 = 1 << 20;
