//! Limits and timeouts of the client, each with its reason.

use std::time::Duration;

/// The default address of the API.
pub(crate) const SERVICE_URL: &str = "https://localhost:8143";

/// Timeout of a request: it waits for one commit and, for large scopes, for their resolution.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout of a deployment: the server waits 700 s before it answers that a deployment goes on.
pub(crate) const DEPLOY_TIMEOUT: Duration = Duration::from_secs(720);

/// Timeout for connecting: the server is nearby or not running.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Silence after which the event stream counts as broken: a comment is due every 15 s, so three are
/// missing.
pub(crate) const STREAM_SILENCE: Duration = Duration::from_secs(45);

/// First pause between attempts to reconnect a lost event stream: the server may be restarting.
pub(crate) const RECONNECT_FIRST: Duration = Duration::from_millis(200);
pub(crate) const RECONNECT_MAX: Duration = Duration::from_secs(5);
/// Attempts to reconnect: about five minutes with the pauses above, more than a restart takes.
pub(crate) const RECONNECT_ATTEMPTS: u32 = 64;

/// Length limit of an event stream line: one result of at most 64 MiB, as JSON text.
pub(crate) const STREAM_LINE_BYTES: usize = 256 << 20;

/// Results fetched in one request.
pub(crate) const PAGE: u64 = 500;

/// Nodes in one request of `node ping`, `node leases` and `node release`: as many as the server takes. Fleets are larger.
pub(crate) const NODES_IN_REQUEST: usize = 10_000;

/// Jobs shown by `job list`, as in Puppet's client.
pub(crate) const JOBS_SHOWN: u64 = 50;

/// Code versions counted separately for one job: lines on half a screen. Honest nodes report as
/// many as were deployed while the job ran.
pub(crate) const CODE_VERSIONS: usize = 16;

/// Size limit of parameters and lists read from files.
pub(crate) const FILE_BYTES: u64 = 64 << 20;

/// Width if the terminal reports none, and the narrowest that output is fitted to.
pub(crate) const WIDTH: usize = 100;
pub(crate) const WIDTH_MIN: usize = 40;

/// Names listed in one sentence; the others are counted.
pub(crate) const NAMES_SHOWN: usize = 5;

/// Entries shown by `audit list`.
pub(crate) const AUDIT_SHOWN: u64 = 50;

/// Audit entries fetched in one request: 10 MB at most.
pub(crate) const AUDIT_PAGE: u64 = 1_000;

/// Interval between polls of a plan job: that of Puppet's own client for a job.
pub(crate) const PLAN_POLL: Duration = Duration::from_secs(1);

/// Time limit for a login at an identity provider: the server forgets a login ten minutes after its
/// start.
pub(crate) const OIDC_WAIT: Duration = Duration::from_secs(600);

/// Time limit for one request of a browser on this machine, and its response.
pub(crate) const CALLBACK_REQUEST: Duration = Duration::from_secs(10);
/// Size limit of its head: a URL with a code (some 2 KiB) and cookies of other programs on
/// 127.0.0.1.
pub(crate) const CALLBACK_HEAD_BYTES: usize = 64 << 10;
/// Connections served at once: browsers open up to six to a host; further ones wait until one has
/// ended.
pub(crate) const CALLBACK_CONNECTIONS: usize = 16;

/// Length limit of a pasted URL: a terminal passes lines of at most 4 KiB, a pipe longer ones.
pub(crate) const PASTED_BYTES: usize = 16 << 10;

/// Targets that a preview names on a line; the others are counted.
pub(crate) const PREVIEW_TARGETS: usize = 5;

/// Parameters of one step shown by a preview; `--format json` has all.
pub(crate) const PREVIEW_PARAMETERS: usize = 12;

/// Characters of a parameter's value in a preview: one line of a terminal.
pub(crate) const PREVIEW_VALUE_CHARS: usize = 100;

/// Size limit of a script or file sent with a command: the limit of the server.
pub(crate) const ACTION_FILE_BYTES: u64 = 16 << 20;

/// Jobs that `node show` lists: recent events of the node, without scrolling.
pub(crate) const NODE_JOBS: u64 = 5;

/// Targets named in the error of a plan, and lines for each: one screen.
pub(crate) const FAILED_TARGETS: usize = 5;
pub(crate) const FAILED_LINES: usize = 8;

/// Nodes that have not converged, as they are shown with the end of their runs: a screen of them.
pub(crate) const UNSETTLED_NODES: usize = 20;

/// Time limit for completion: with more, the shell seems to hang; a server nearby answers within 50
/// ms.
pub(crate) const COMPLETION_DEADLINE: Duration = Duration::from_millis(900);
/// Names requested at once: more than a terminal shows, 40 KB at most.
pub(crate) const COMPLETION_ROWS: usize = 200;
/// Maximum age of cached names: the time to type some words of one command line.
pub(crate) const COMPLETION_CACHE_AGE: Duration = Duration::from_secs(10);
/// Size limit of one cached list: 2,000 tasks with their descriptions.
pub(crate) const COMPLETION_CACHE_BYTES: u64 = 256 << 10;
/// Number of cached lists: those of ten seconds of typing, 8 MiB at most.
pub(crate) const COMPLETION_CACHE_FILES: usize = 32;

/// Functions of modules that `plan show` names: one screen.
pub(crate) const REPLACED_FUNCTIONS_SHOWN: usize = 20;

/// Versions of each environment that a local deployment keeps beside the live one, unless told
/// otherwise: the number of a server (the crate `local-commands` checks that they are equal).
pub const KEEP_VERSIONS: usize = 5;

/// Attempts to have nodes compiled while the server has no room for them, each after
/// [`IMPACT_RETRY_WAIT`]: five minutes, after which something else is wrong.
pub(crate) const IMPACT_RETRIES: u32 = 60;

/// Wait before such an attempt: some compilations end in that time.
pub(crate) const IMPACT_RETRY_WAIT: Duration = Duration::from_secs(5);

/// Number of reports of runs that `tutti report list` shows.
pub(crate) const REPORTS_SHOWN: u64 = 50;

/// Digits of a report's id that lists show: of 2 million reports, two have the same twelve digits with a
/// probability of 1 %.
pub(crate) const REPORT_ID_SHOWN: usize = 12;

/// Nodes that a plan names as those that one node waits for: a line of a terminal has three certnames.
pub(crate) const WAITS_NAMED: usize = 3;

/// Nodes that are not connected and that a plan names, of each kind: with both kinds, half a terminal of 50 lines.
pub(crate) const ABSENT_NODES_SHOWN: usize = 10;
