//! The bounds of the API, with their arithmetic.

/// The largest body of a command: Bolt's `apply_helpers::apply_catalog` carries a whole catalog
/// in its parameters, and the broker's largest message is 64 MiB as well.
pub const COMMAND_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The largest body of a command that names nodes and little else: 100,000 certnames, as many as a
/// job may have, of 80 characters.
pub const NODES_BODY_BYTES: usize = 8 * 1024 * 1024;

/// The largest body anywhere else: 20,000 certnames of 50 characters in `POST inventory`.
pub const BODY_BYTES: usize = 1024 * 1024;

/// The largest body about one node group or one node: 50,000 pinned certnames of 50 characters, or
/// the facts of a large node.
pub const CLASSIFIER_BODY_BYTES: usize = 8 * 1024 * 1024;

/// The largest body about a certificate: a request with an RSA-4096 key and extensions has 2.5 KB.
pub const CERTIFICATE_BODY_BYTES: usize = 64 * 1024;

/// The largest dump of node groups.
pub const IMPORT_BODY_BYTES: usize = 64 * 1024 * 1024;

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

/// Sizes of batches that one rollout may list: a ramp of 1, 2, 4, … comes to 100,000 nodes with 17.
pub const BATCH_SIZES: usize = 32;

/// The longest pause between two batches, in seconds: a week. A job is kept for 30 days after its end, and a pause
/// that is longer belongs into a schedule.
pub const PAUSE_SECONDS: u64 = 7 * 24 * 3_600;

/// The largest body of a query: 50,000 certnames of 60 characters are 3 MB, and a query may be 4 MiB.
pub const QUERY_BODY_BYTES: usize = 5 * 1024 * 1024;

/// Entries of the audit in one reply, unless asked otherwise; as Puppet Enterprise's activity
/// service has it.
pub const AUDIT_ENTRIES: u64 = 1_000;

/// Entries of the audit in one reply at most: some 7 MB of JSON.
pub const AUDIT_ENTRIES_MAX: u64 = 10_000;

/// The longest name of a plan, in characters: as of tasks.
pub const PLAN_NAME_CHARS: usize = 256;

/// Steps of a plan in one reply, unless asked otherwise.
pub const PLAN_STEPS: u64 = 1_000;

/// Steps of a plan in one reply at most: with 3 KB for the largest, some 30 MB of JSON.
pub const PLAN_STEPS_MAX: u64 = 10_000;

/// Names of sensitive parameters in one command.
pub const SENSITIVE_NAMES: usize = 1_000;

/// How long a connection to an LDAP server may take when nobody says, in seconds: two servers are
/// tried before whoever logs in loses patience.
pub const LDAP_CONNECT_SECONDS: u64 = 10;

/// Where LDAP over TLS is served.
pub const LDAPS_PORT: u16 = 636;

/// Days of `GET usage` in one reply: longer than jobs are kept by default.
pub const USAGE_DAYS: i64 = 92;

/// The largest body of a forge's webhook: GitHub cuts its own at 25 MB, and lists at most 2,048 commits of a
/// push, of which some hundred bytes each are looked at by nobody here.
pub const WEBHOOK_BODY_BYTES: usize = 25 * 1024 * 1024;

/// Deployments of the history in one reply, unless asked otherwise.
pub const CODE_DEPLOYS: u64 = 50;

/// Deployments of the history in one reply at most: with some KB for each, some MB of JSON.
pub const CODE_DEPLOYS_MAX: u64 = 1_000;
