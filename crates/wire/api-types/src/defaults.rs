//! Limits and default values of the API, with their arithmetic.

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

/// The largest dump of node groups, in bytes.
pub const IMPORT_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The largest body of a login, in bytes. Logins need no token.
pub const LOGIN_BODY_BYTES: usize = 16 * 1024;

/// The longest description of a job, in characters: two screens of text.
pub const DESCRIPTION_CHARS: usize = 4_096;

/// The largest `userdata` of a job, as JSON: it is stored and sent with every job that is listed.
pub const USERDATA_BYTES: usize = 64 * 1024;

/// The environment of a command that names none, as Puppet's own default.
pub const ENVIRONMENT: &str = "production";

/// The longest timeout of a node, in seconds: 30 days.
pub const TIMEOUT_SECONDS: u64 = 30 * 24 * 3_600;

/// Sizes of batches that one rollout may list: a ramp of 1, 2, 4, … reaches 100,000 nodes with 17
/// sizes.
pub const BATCH_SIZES: usize = 32;

/// The longest pause between two batches, in seconds: a week. A job is kept for 30 days after its
/// end; longer pauses call for a scheduled job.
pub const PAUSE_SECONDS: u64 = 7 * 24 * 3_600;

/// The longest time over which the starts of a job's nodes are spread, in seconds: a day, as runs of Puppet that are rarer
/// than daily need no spread of their own.
pub const SPLAY_SECONDS: u64 = 24 * 3_600;

/// The largest body of a query: 50,000 certnames of 60 characters are 3 MB, and a query may be 4
/// MiB.
pub const QUERY_BODY_BYTES: usize = 5 * 1024 * 1024;

/// Default number of audit entries in one reply, as in Puppet Enterprise's activity service.
pub const AUDIT_ENTRIES: u64 = 1_000;

/// Largest number of audit entries in one reply: some 7 MB of JSON.
pub const AUDIT_ENTRIES_MAX: u64 = 10_000;

/// The longest name of a plan, in characters: the same as for tasks.
pub const PLAN_NAME_CHARS: usize = 256;

/// Default number of plan steps in one reply.
pub const PLAN_STEPS: u64 = 1_000;

/// Largest number of plan steps in one reply: with 3 KB for the largest step, some 30 MB of JSON.
pub const PLAN_STEPS_MAX: u64 = 10_000;

/// Largest number of sensitive parameter names in one command.
pub const SENSITIVE_NAMES: usize = 1_000;

/// Default timeout of a connection to an LDAP server, in seconds: two servers can be tried before a
/// user gives up on the login.
pub const LDAP_CONNECT_SECONDS: u64 = 10;

/// TCP port of LDAP over TLS.
pub const LDAPS_PORT: u16 = 636;

/// Largest number of days in one reply of `GET usage`: more than the default retention of jobs.
pub const USAGE_DAYS: i64 = 92;

/// The largest body of a forge's webhook: GitHub limits its own to 25 MB, and lists at most 2,048
/// commits of a push, of which some hundred bytes each are ignored here.
pub const WEBHOOK_BODY_BYTES: usize = 25 * 1024 * 1024;

/// Default number of deployments in one reply of the history.
pub const CODE_DEPLOYS: u64 = 50;

/// Largest number of deployments in one reply of the history: with some KB for each, some MB of
/// JSON.
pub const CODE_DEPLOYS_MAX: u64 = 1_000;

/// Nodes of one request for the impact of code. Two catalogs of each are compiled, in a few seconds on
/// two cores, so that a client sees progress and no request holds a connection for long.
pub const IMPACT_NODES_MAX: usize = 25;

/// Number of reports that a list of reports of runs has if the request names no limit.
pub const REPORTS_SHOWN: u64 = 50;

/// Largest number of reports of runs in one list: 1 KB each, so 5 MB.
pub const REPORTS_MAX: u64 = 5_000;

/// The most waves of repeated Puppet runs: at a minute each, more than an hour and a half.
pub const CONVERGENCE_WAVES: u32 = 100;

/// Longest pause between two waves, in seconds: a day.
pub const CONVERGENCE_PAUSE_SECONDS: u64 = 86_400;
