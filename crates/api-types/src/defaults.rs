//! The bounds of the API, with their arithmetic.

/// The largest body of a command: Bolt's `apply_helpers::apply_catalog` carries a whole catalog
/// in its parameters, and the broker's largest message is 64 MiB as well.
pub const COMMAND_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The largest body anywhere else: 20,000 certnames of 50 characters in `POST inventory`.
pub const BODY_BYTES: usize = 1024 * 1024;

/// The largest body of a login, which anybody may send.
pub const LOGIN_BODY_BYTES: usize = 16 * 1024;

/// The longest description of a job, in characters: two screens of text.
pub const DESCRIPTION_CHARS: usize = 4_096;

/// The largest `userdata` of a job, as JSON: it is stored and sent with every job that is listed.
pub const USERDATA_BYTES: usize = 64 * 1024;

/// The environment of a command that names none, as Puppet's own default.
pub const ENVIRONMENT: &str = "production";

/// The longest time a node may have, in seconds: 30 days.
pub const TIMEOUT_SECONDS: u64 = 30 * 24 * 3_600;
