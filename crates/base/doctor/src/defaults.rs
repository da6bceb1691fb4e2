//! Every bound of a diagnosis, with its reason.

use std::time::Duration;

/// Time of a check that looks at this machine alone. A healthy disk answers within milliseconds; a mount whose server is
/// away never does.
pub const LOCAL_DEADLINE: Duration = Duration::from_secs(5);

/// Time of a check that asks other machines: name resolution alone waits 5 s for each server that is away.
pub const REMOTE_DEADLINE: Duration = Duration::from_secs(15);

/// Checks side by side. They wait more than they work; with some 15 checks and the deadlines above, a diagnosis in which
/// everything hangs ends within half a minute.
pub const CHECKS_AT_ONCE: usize = 8;

/// Entries of one directory that are looked at. The CA of 50,000 nodes has as many certificates in one directory.
pub const DIRECTORY_ENTRIES: usize = 100_000;

/// Bytes of `/etc/passwd` or `/etc/group` that are read: 16 MiB are some 200,000 accounts.
pub const ACCOUNT_FILE_BYTES: u64 = 16 << 20;

/// Paths named in one finding; the others are counted.
pub const PATHS_SHOWN: usize = 3;

/// Free space below which writing may fail within hours: a deployment of code takes some 100 MB.
pub const DISK_PROBLEM_BYTES: u64 = 100 << 20;
/// Free space below which a warning is due: a day of results of a large fleet.
pub const DISK_NOTE_BYTES: u64 = 1 << 30;
/// Free inodes below which writing may fail: a version of code has some 10,000 files.
pub const DISK_PROBLEM_INODES: u64 = 1_000;
/// Free inodes below which a warning is due.
pub const DISK_NOTE_INODES: u64 = 20_000;

/// Time before the end of a certificate or revocation list at which something must be done at once: a week has a
/// working day in it, whatever the holidays are.
pub const EXPIRY_PROBLEM: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Time before that end at which it is told: a month, as certificates of the web are renewed.
pub const EXPIRY_NOTE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Difference of two clocks that is told. Answers carry whole seconds and take some themselves.
pub const CLOCK_NOTE: Duration = Duration::from_secs(5);
/// Difference of two clocks at which things begin to fail: tokens of identity providers are good for five minutes.
pub const CLOCK_PROBLEM: Duration = Duration::from_secs(300);

/// Listening sockets that are looked at: more than ports of one protocol.
pub const SOCKETS: usize = 1 << 17;
/// Processes whose open files are looked at: the most that Linux numbers by default on a large machine.
pub const PROCESSES: usize = 1 << 22;

/// Bytes of the answer of a program such as `systemctl show`: its properties are some KiB.
pub const PROGRAM_OUTPUT_BYTES: u64 = 1 << 20;
