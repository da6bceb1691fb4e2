//! Bounds of plans in the Puppet language, with their arithmetic.

use std::time::Duration;

/// The most targets of one call, as many nodes as the largest fleet has.
pub const TARGETS_MAX: usize = 100_000;

/// The deepest nesting of lists of targets.
pub const TARGETS_DEPTH: usize = 32;

/// The most bytes of one message of a plan, which is stored and sent as an event. Longer messages
/// are cut.
pub const MESSAGE_BYTES: usize = 64 << 10;

/// The most bytes of a single file that a plan uploads, or of a script. It is sent to each node in
/// one message of at most 64 MB and grows by a third in Base64.
pub const UPLOAD_BYTES: u64 = 16 << 20;

/// The most files and directories in a directory that a plan uploads. At 400 bytes each they are
/// 400 KB of one message; over SSH they take about 10 s.
pub const UPLOAD_ITEMS: usize = 1_000;

/// The most bytes of all files in such a directory. Nodes fetch its files one by one.
pub const UPLOAD_TREE_BYTES: u64 = 64 << 20;

/// The default interval between the checks of `wait_until_available`, and also its minimum.
pub const AVAILABLE_RETRY: Duration = Duration::from_secs(1);

/// The default time that `wait_until_available` waits, as in Bolt.
pub const AVAILABLE_WAIT: Duration = Duration::from_secs(120);

/// The most calls of the block of `ctrl::do_until` if the plan sets no limit. A block without steps
/// would otherwise never end.
pub const DO_UNTIL_CALLS: u64 = 100_000;

/// The most bytes of texts that a plan unwrapped from `Sensitive` values and that are redacted in
/// everything stored. Each text is stored in six forms, so 8 MB hold 300 keys of 4 KB with some
/// reserve. If a plan unwraps more, all its texts are redacted.
pub const UNWRAPPED_BYTES: usize = 8 << 20;

/// The shortest text, in bytes, that is redacted, the length of a PIN. Shorter texts occur in too
/// many other texts and are easily guessed.
pub const UNWRAPPED_TEXT_BYTES: usize = 4;

/// The most targets that a preview names for one effect; the others are only counted. A thousand
/// certnames of 50 bytes are 50 KB, and an event is stored as long as its plan job.
pub const PREVIEW_TARGETS: usize = 1_000;

/// The most bytes of a text from a node in the message of an error, enough for a stack trace.
pub const NODE_OUTPUT_SHOWN_BYTES: usize = 4 << 10;

/// The most files of modules that the catalogs of one step name as sources, the most files that a task
/// may have. Further ones are missing on the nodes, which report that.
pub const FILE_SOURCES_MAX: usize = 2_000;

/// The most bytes of parameters that a preview shows for one effect, enough for a person to read.
pub const PREVIEW_PARAMETERS_BYTES: usize = 16 << 10;
