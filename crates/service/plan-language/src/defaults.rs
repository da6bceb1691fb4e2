//! Every bound of plans in the Puppet language, with its arithmetic.

use std::time::Duration;

/// Targets of one call: the largest fleet.
pub const TARGETS_MAX: usize = 100_000;

/// Lists of targets inside each other.
pub const TARGETS_DEPTH: usize = 32;

/// The text of one message of a plan; what is longer is cut, since events are kept and sent.
pub const MESSAGE_BYTES: usize = 64 << 10;

/// A file that a plan uploads, or a script: it goes to every node in one message of at most 64 MB, a third
/// longer in Base64.
pub const UPLOAD_BYTES: u64 = 16 << 20;

/// Files and directories of a directory that a plan uploads: at 400 bytes each, 400 KB of one message, and over
/// SSH some 10 s.
pub const UPLOAD_ITEMS: usize = 1_000;

/// Bytes of such a directory. Nodes fetch its files one by one, each of the size of any file of code.
pub const UPLOAD_TREE_BYTES: u64 = 64 << 20;

/// The interval at which `wait_until_available` looks, by default.
pub const AVAILABLE_RETRY: Duration = Duration::from_secs(1);

/// The time that `wait_until_available` waits by default: as in Bolt.
pub const AVAILABLE_WAIT: Duration = Duration::from_secs(120);

/// The interval at which `ctrl::do_until` calls its block, by default: the block may have no step, and
/// would then never end.
pub const DO_UNTIL_CALLS: u64 = 100_000;

/// Bytes of the texts that a plan took out of `Sensitive` values and that are looked for in what is written
/// down: six forms each, so 300 keys of 4 KB with some room. A plan that unwraps more has all its texts
/// redacted.
pub const UNWRAPPED_BYTES: usize = 8 << 20;

/// The shortest text that is looked for: a PIN. What is shorter stands in half of all texts, and is guessed.
pub const UNWRAPPED_TEXT_BYTES: usize = 4;

/// Targets that a preview names for one effect; the others are counted. A thousand certnames of 50 bytes are
/// 50 KB, and an event is kept as long as its plan job.
pub const PREVIEW_TARGETS: usize = 1_000;

/// Text of the parameters that a preview shows of one effect; as much as people look at.
pub const PREVIEW_PARAMETERS_BYTES: usize = 16 << 10;
