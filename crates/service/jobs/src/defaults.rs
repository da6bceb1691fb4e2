//! Every bound of the job engine, with its arithmetic.

use std::time::Duration;

/// Actions in flight at once over all jobs; the figure that PE users know as `task_concurrency`.
pub const TASK_CONCURRENCY: usize = 250;

/// Puppet runs at once over all jobs, PE's `global_concurrent_compiles`: each has a catalog compiled
/// first, which takes a core of a server for seconds.
pub const CONCURRENT_COMPILES: usize = 8;

/// Interval between status queries to a node with a run in flight. The node may leave
/// [`POLL_LIMIT`] of them unanswered before the run counts as lost: 35 x 12 s = 7 minutes, PE's
/// `allowed_pcp_status_requests`.
pub const POLL_INTERVAL: Duration = Duration::from_secs(12);
/// Consecutive unanswered status queries, one every [`POLL_INTERVAL`], after which a run counts as
/// lost.
pub const POLL_LIMIT: u32 = 35;

/// Status requests without an answer after which the end of the wait is written down, so that a
/// restart of the server does not begin it anew: two, so that one lost message writes nothing. After a
/// restart it is written down before the first. At most [`TASK_CONCURRENCY`] rows when a broker goes away or
/// a server starts, in one commit.
pub const SILENCE_NOTED: u32 = 2;
/// Minimum time for which a silent node is queried after a restart of the server, however little is
/// left of its wait: as long as a fleet takes to come back ([`AWAY_GRACE`]).
pub const SILENCE_AFTER_RESTART: Duration = AWAY_GRACE;

/// Timeout of one run if its job names none. A day: long enough for any sane action, short enough
/// that a hung one gives its slot back.
pub const RUN_TIMEOUT: Duration = Duration::from_secs(24 * 3_600);

/// The longest timeout that may be asked for: as long as a finished job is kept.
pub const RUN_TIMEOUT_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Time that an agent has to end a cancelled action and to report it. The agent itself waits 5 s
/// between TERM and KILL; as much again for the report.
pub const CANCEL_GRACE: Duration = Duration::from_secs(10);

/// Time that a restarted engine, from its start, waits for the nodes of runs that were queued
/// before: agents come back within some 20 s in a storm of 10,000, but one that was away for long
/// waits some minutes between its tries, and a remote broker has to come back first.
pub const RECONNECT_GRACE: Duration = Duration::from_secs(5 * 60);

/// Wait of a queued run, without a slot, for a node that was connected when the job was made and is
/// away at its turn. After a restart, nodes that were connected before count as connected for this
/// time: 50,000 agents are back within some 100 s when their broker restarts.
pub const AWAY_GRACE: Duration = Duration::from_secs(2 * 60);

/// Time for which changes of presence are collected before they are written: a node that connected less than this
/// before the server was killed is not expected back.
pub const PRESENCE_INTERVAL: Duration = Duration::from_secs(1);
/// Changes of presence in one transaction: 50,000 nodes are 50 transactions of some 20 ms.
pub const PRESENCE_CHANGES: usize = 1_000;
/// Nodes read at a time when the engine starts.
pub const PRESENCE_PAGE: u32 = 10_000;

/// Time of whose splayed starts a late engine makes up at once: as long as it may take for one round of its loop. Twice as
/// many nodes as in a second of a splay then start together.
pub const SPLAY_BURST: Duration = Duration::from_secs(1);

/// Interval at which the timers of runs in flight are checked. One pass covers at most
/// [`TASK_CONCURRENCY`] runs; a timeout is late by this much at most.
pub const TICK: Duration = Duration::from_secs(1);

/// Time that the end of a Puppet run waits for its report, which goes from the agent to a server
/// and from there to PuppetDB while the agent sends its result: seconds, more when PuppetDB is
/// behind.
pub const REPORT_WAIT: Duration = Duration::from_secs(30);

/// Nodes whose facts are asked for at once: PuppetDB answers each in some 10 ms, so 10,000 nodes take
/// 6 s.
pub const LOOK_UPS: usize = 16;

/// Time that a new Puppet job waits for its nodes' Puppet versions, which PuppetDB returns for
/// 5,000 nodes in well under a second. A longer wait would delay the caller for a check that each
/// node makes itself.
pub const VERSIONS_WAIT: Duration = Duration::from_secs(3);

/// Time that a new Puppet job which names a version waits for the compilers of its nodes. They follow from the
/// configuration at once, or from node groups: PuppetDB returns the facts of 5,000 nodes, 16 at once, in 3 s.
pub const COMPILERS_WAIT: Duration = Duration::from_secs(10);

/// Classifications of all nodes of an embedded inventory at once, each on a thread of its own: 25,000
/// nodes by a rule take one core some 50 ms, so the tenth that asks at the same time waits 250 ms.
pub const CLASSIFICATIONS: usize = 2;

/// Difference of two clocks that were not set, in milliseconds: they are read one after the other, and times are
/// sent in seconds.
pub const CLOCK_JITTER_MS: i64 = 1_000;

/// Failed nodes named in a message about a failure that keeps other nodes from starting.
pub const FAILED_NAMED: usize = 5;

/// Times that a request is sent again to an agent that proved it never got it.
pub const RESEND_LIMIT: u8 = 10;
/// A request is not sent again when it was first sent longer ago: an agent's spool may have been
/// purged since (the shortest sensible purge is an hour), so `unknown` would prove nothing.
pub const RESEND_MAX_AGE: Duration = Duration::from_secs(3_600);
/// Attempts to send to a node whose queue in the broker is full, one [`TICK`] apart.
pub const BUSY_LIMIT: u8 = 10;

/// Changes in one commit. 1,024 results of 2 KB are a 2 MB transaction, some 20 ms of work beside
/// one fsync of 5-7 ms.
pub const COMMIT_CHANGES: usize = 1_024;
/// Changes that wait for the commit under way before the inbox is left unread: two commits' worth.
pub const PENDING_CHANGES: usize = 2 * COMMIT_CHANGES;
/// The same in bytes of results: one message of the largest size (64 MB) must fit.
pub const PENDING_BYTES: usize = 64 * 1_024 * 1_024;
/// Messages read from the inbox in one turn, so that commands and timers get theirs.
pub const INBOX_TURN: usize = 256;
/// Results larger than this are shaped on a blocking thread (parsing runs at some 500 MB/s, so 64
/// KiB hold up the engine for 0.1 ms).
pub const INLINE_RESULT_BYTES: usize = 64 * 1_024;
/// Large results being shaped at once; more wait in the inbox. 4 x 64 MB at worst.
pub const SHAPING: usize = 4;

/// Wait before a failed commit is tried again: a full disk or a lost database does not heal faster.
pub const COMMIT_RETRY: Duration = Duration::from_secs(1);

/// Commands that wait for the engine (runs, stops, new readers): each waits for its caller.
pub const COMMANDS: usize = 256;
/// Job insertions under way at once; more wait in the command queue.
pub const INSERTIONS: usize = 16;
/// Jobs kept in memory while it is unknown if the store has them; with more, new ones are
/// refused until it can. With those being inserted, 32 drafts at the most.
pub const DOUBTS: usize = 16;
/// Messages of one commit handed to brokers at once. A node whose queue is full holds up its own
/// place only.
pub const SENDS: usize = 128;
/// Hand-over batches under way; more wait as changes do.
pub const SEND_BATCHES: usize = 64;

/// Store look-ups for outcomes of runs that are over, at once; an outcome beyond that is dropped
/// unacknowledged (our agents send it again).
pub const LATE_LOOKUPS: usize = 32;
/// Late outcomes remembered as already logged.
pub const LATE_REMEMBERED: usize = 4_096;

/// Output that may be on its way to one live subscriber: 4 MiB.
pub const LIVE_QUEUE_BYTES: u64 = 4 * 1_024 * 1_024;
/// Bounds of the output one agent may send ahead of the readers; between them it is the queue
/// divided by the runs in flight (4 MiB / 250 = 16 KiB).
pub const LIVE_WINDOW_MIN: u64 = 1_024;
/// Upper bound of that window, in bytes; see [`LIVE_WINDOW_MIN`].
pub const LIVE_WINDOW_MAX: u64 = 64 * 1_024;
/// Chunks in a subscriber's queue, whatever their size.
pub const LIVE_CHUNKS: usize = 4_096;
/// Subscribers of one job.
pub const LIVE_SUBSCRIBERS: usize = 64;
/// Reports of readers (what they have taken) that wait for the engine; each waits for its reader.
pub const LIVE_REPORTS: usize = 256;
/// Events read from the store at a time for a subscriber.
pub const LIVE_EVENTS: usize = 500;

/// Pings under way at once in one call.
pub const PINGS: usize = 256;
/// Time that a ping waits for its answer.
pub const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which the lease of a node ends unless it is renewed: an engine that is gone keeps no node from its regular
/// runs for longer. A restart of the server takes some seconds, and its agents are back within 60 s.
pub const LEASE_TTL: Duration = Duration::from_secs(120);
/// Interval between two renewals: two may be lost. 10,000 nodes are 250 requests in a second.
pub const LEASE_RENEWAL: Duration = Duration::from_secs(40);
/// First pause between two requests for leases that are not held yet: an agent takes a free one within some 100 ms.
pub const LEASE_POLL_MIN: Duration = Duration::from_millis(50);
/// Longest such pause; a run of Puppet whose end is awaited takes some seconds at least.
pub const LEASE_POLL_MAX: Duration = Duration::from_secs(2);
/// Time after which a job says whose end it waits for: most runs of Puppet have ended by then.
pub const LEASE_NOTE: Duration = Duration::from_secs(30);
/// Time that a job waits for the end of runs in progress. Few runs take longer, and the job's own run waits for them, too.
pub const LEASE_PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Largest answer about a lease: its texts have some 600 characters.
pub const LEASE_ANSWER_BYTES: usize = 64 * 1_024;
/// Time that a request for a lease waits for its answer, as for a ping.
pub const LEASE_TIMEOUT: Duration = PING_TIMEOUT;
/// Requests for leases of a job under way at once.
pub const LEASE_REQUESTS: usize = 256;
/// Nodes that an event names because they are not held.
pub const LEASES_NAMED: usize = 10;
/// The environment of a node for which neither the classifier nor a Puppet run names one: Puppet's
/// own default.
pub const UNKNOWN_ENVIRONMENT: &str = "production";
/// Nodes of one job or ping: twice the largest fleet that one server is meant for.
pub const SCOPE_NODES: usize = 100_000;

/// Length of the path, below a plan's own directory, where the plan keeps files of nodes: a path
/// has 4,096 bytes at most.
pub const DESTINATION_BYTES: usize = 1_024;
/// One part of a path, on every file system of Linux.
pub const FILE_NAME_BYTES: usize = 255;

/// The name of a user of a node; Linux has 32 bytes, directories of users up to 256.
pub const USER_BYTES: usize = 256;

/// Parameters that one node has for itself, such as its catalog: 800 bytes for each of the 20,000 resources
/// of the largest catalogs in the field. A message has 64 MB.
pub const NODE_PARAMS_BYTES: usize = 16 * 1_024 * 1_024;
/// Nodes whose parameters are computed at once; the source has limits of its own.
pub const NODE_PARAMS_AT_ONCE: usize = 16;
/// Such parameters of all nodes of a job, compressed, in memory and in the job's row: 2,500 nodes with
/// catalogs of 250 KB, which have some 300 resources and shrink to a tenth.
pub const NODE_PARAMS_TOTAL_BYTES: usize = 64 * 1_024 * 1_024;
/// Such parameters of all unfinished jobs, in memory: eight jobs of the largest size.
pub const NODE_PARAMS_ALL_BYTES: usize = 8 * NODE_PARAMS_TOTAL_BYTES;

/// Age at which finished jobs are deleted, PE's `job_prune_days_threshold`.
pub const PRUNE_AFTER: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Interval between two searches for jobs to delete.
pub const PRUNE_EVERY: Duration = Duration::from_secs(3_600);

/// Runs of one job that have spans; of a larger job every n-th has. Three spans each are 768, a
/// good third of the queue to the collector (2,048 by default).
pub const TRACED_RUNS: usize = 256;

/// Time that shutdown waits for the commit under way.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Largest environment variable of a process with its name and final NUL, Linux's `MAX_ARG_STRLEN`: 32 pages.
pub const VARIABLE_BYTES: usize = 32 * 4_096;

/// Standard error kept with a node's details: 64 KiB, enough for a stack trace.
pub const DETAILS_STDERR_BYTES: usize = 64 * 1_024;
/// Text of an error message taken over from a node.
pub const NODE_MESSAGE_BYTES: usize = 4 * 1_024;

/// Globs and regular expressions of one command: each is matched with every known node, so this many and 100,000 nodes
/// are 6.4 million matches, about a second of one core.
pub const SELECTOR_PATTERNS: usize = 64;

/// Length of one glob or regular expression: four certnames.
pub const PATTERN_BYTES: usize = 1_024;

/// Memory of one compiled expression.
pub const PATTERN_PROGRAM_BYTES: usize = 1 << 20;

/// Selectors without a node that one message names, and nodes that one ambiguous short name is listed with.
pub const SELECTOR_PROBLEMS: usize = 5;

/// Length of the name of an application, or of the reference of an instance: Puppet has no limit, and a title that is
/// a path has 4,096 bytes at most.
pub const APPLICATION_REFERENCE_BYTES: usize = 4_096;
/// Application instances that a message names.
pub const INSTANCES_NAMED: usize = 10;
/// Nodes of a cycle that a message names: a cycle of 50 nodes is named whole, in 5 KB.
pub const CYCLE_NODES_NAMED: usize = 50;
/// Passes of one command: nodes that wait for each other in both directions need 2, and a pass of a minute each makes more
/// than an hour and a half of this many.
pub const PASSES_MAX: usize = 100;
/// Queries for capabilities at once when the job of a pass is made: the database answers one in about a millisecond, so
/// those of 5,000 producers take less than a second.
pub const CAPABILITY_QUERIES: usize = 8;
