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

/// How often `wait_until_available` looks, if the plan does not say.
pub const AVAILABLE_RETRY: Duration = Duration::from_secs(1);

/// How long `wait_until_available` waits, if the plan does not say: as Bolt.
pub const AVAILABLE_WAIT: Duration = Duration::from_secs(120);

/// How often `ctrl::do_until` calls its block, if the plan does not say: the block may have no step, and
/// would then never end.
pub const DO_UNTIL_CALLS: u64 = 100_000;
