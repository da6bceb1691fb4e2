//! Every bound of the client, with its reason.

use std::time::Duration;

/// Where the API is when nobody says otherwise.
pub(crate) const SERVICE_URL: &str = "https://localhost:8143";

/// A command's answer waits for one commit and, for large scopes, for their resolution.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A server waits 700 s for deployments before it answers that they go on.
pub(crate) const DEPLOY_TIMEOUT: Duration = Duration::from_secs(720);

/// The server is on the next machine or not there.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The event stream sends a comment every 15 s; three missed ones mean a dead connection.
pub(crate) const STREAM_SILENCE: Duration = Duration::from_secs(45);

/// Pauses between attempts to get a lost event stream back: the server may be restarting.
pub(crate) const RECONNECT_FIRST: Duration = Duration::from_millis(200);
pub(crate) const RECONNECT_MAX: Duration = Duration::from_secs(5);
/// With the pauses above: about five minutes, more than a restart takes.
pub(crate) const RECONNECT_ATTEMPTS: u32 = 64;

/// A line of the event stream: one result of at most 64 MiB, as JSON text.
pub(crate) const STREAM_LINE_BYTES: usize = 256 << 20;

/// Results fetched in one request.
pub(crate) const PAGE: u64 = 500;

/// Jobs shown by `job list`, as Puppet's client does.
pub(crate) const JOBS_SHOWN: u64 = 50;

/// Versions of the code that are told apart for one job: lines on half a screen. Honest nodes speak of as
/// many as were deployed while the job ran.
pub(crate) const CODE_VERSIONS: usize = 16;

/// Parameters and lists read from files.
pub(crate) const FILE_BYTES: u64 = 64 << 20;

/// Width when the terminal does not tell, and the narrowest that output is fitted to.
pub(crate) const WIDTH: usize = 100;
pub(crate) const WIDTH_MIN: usize = 40;

/// Names in one sentence; more are counted.
pub(crate) const NAMES_SHOWN: usize = 5;

/// Entries shown by `audit list`.
pub(crate) const AUDIT_SHOWN: u64 = 50;

/// Entries of the audit fetched in one request: at the largest 10 MB.
pub(crate) const AUDIT_PAGE: u64 = 1_000;

/// A line of an exported audit: an entry has 8 KiB of details, which JSON may double, and names.
pub(crate) const AUDIT_LINE_BYTES: u64 = 256 << 10;

/// Between two looks at a plan job: what Puppet's own client waits between looks at a job.
pub(crate) const PLAN_POLL: Duration = Duration::from_secs(1);

/// How long somebody may take to log in at an identity provider: the server forgets a login that
/// was begun ten minutes ago.
pub(crate) const OIDC_WAIT: Duration = Duration::from_secs(600);

/// One request of a browser on this machine, and the answer to it.
pub(crate) const CALLBACK_REQUEST: Duration = Duration::from_secs(10);
/// Its head: an address with a code (some 2 KiB) and cookies of other programs on 127.0.0.1.
pub(crate) const CALLBACK_HEAD_BYTES: usize = 64 << 10;
/// Browsers open up to six connections to a host; those beyond wait until one has ended.
pub(crate) const CALLBACK_CONNECTIONS: usize = 16;

/// A pasted address: a terminal hands over lines of at most 4 KiB, a pipe longer ones.
pub(crate) const PASTED_BYTES: usize = 16 << 10;

/// Directories below one that is validated: a module has six levels, an environment nine.
pub(crate) const SOURCE_DEPTH_MAX: usize = 64;

/// Targets that a preview names on a line; the others are counted.
pub(crate) const PREVIEW_TARGETS: usize = 5;

/// Parameters that a preview shows of one step; `--format json` has all.
pub(crate) const PREVIEW_PARAMETERS: usize = 12;

/// Letters of a parameter's value: one line of a terminal.
pub(crate) const PREVIEW_VALUE_CHARS: usize = 100;

/// A script or file that is sent with a command: as much as the server takes.
pub(crate) const ACTION_FILE_BYTES: u64 = 16 << 20;

/// Jobs that `node show` lists: what happened to the node lately, without scrolling.
pub(crate) const NODE_JOBS: u64 = 5;

/// Targets that the error of a plan names, and lines of each: one screen.
pub(crate) const FAILED_TARGETS: usize = 5;
pub(crate) const FAILED_LINES: usize = 8;

/// The wait of Tab for names: longer and the shell seems to hang; a server nearby answers within 50 ms.
pub(crate) const COMPLETION_DEADLINE: Duration = Duration::from_millis(900);
/// Names that are asked for at once: more than a terminal shows, 40 KB at most.
pub(crate) const COMPLETION_ROWS: usize = 200;
/// The age up to which names on the disk are good: for some words of one command line.
pub(crate) const COMPLETION_CACHE_AGE: Duration = Duration::from_secs(10);
/// One list of names: 2,000 tasks with their descriptions.
pub(crate) const COMPLETION_CACHE_BYTES: u64 = 256 << 10;
/// Lists on the disk: those of ten seconds of typing, 8 MiB at most.
pub(crate) const COMPLETION_CACHE_FILES: usize = 32;

/// Functions of modules that `plan show` names: one screen.
pub(crate) const REPLACED_FUNCTIONS_SHOWN: usize = 20;
