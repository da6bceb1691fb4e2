//! Limits and timeouts of the inventory, with the arithmetic behind them.

use std::time::Duration;

// === queries ===

/// Maximum length of a query's text, in bytes. A list of 50,000 certnames of 60 bytes each is 3
/// MB.
pub const MAX_QUERY_BYTES: usize = 4 << 20;

/// Maximum nesting depth of a query. Queries written by hand nest some five levels; each level of
/// the parser takes some hundred bytes of stack.
pub const MAX_QUERY_DEPTH: usize = 64;

/// Maximum number of columns in one list.
pub const MAX_COLUMNS: usize = 64;

/// Maximum number of segments of a dotted field. Facter nests some six levels.
pub const MAX_PATH_SEGMENTS: usize = 32;

/// Maximum memory of one compiled regular expression, in bytes; the default of `regex` is 10 MiB.
pub const MAX_REGEX_BYTES: usize = 1 << 20;

/// Maximum number of regular expressions in one query: 64 MiB at most.
pub const MAX_REGEXES: usize = 64;

/// Maximum number of subqueries in one query: each is one walk over all nodes.
pub const MAX_SELECTS: usize = 16;

/// Maximum number of users' queries that the embedded inventory evaluates at once: each keeps one
/// core busy and may hold an answer.
pub const EVALUATIONS: usize = 2;

/// The same number for the engine alone, which resolves the nodes of jobs and holds no rows. So
/// the start of a job waits only for the starts of other jobs, regardless of users' queries.
pub const ENGINE_EVALUATIONS: usize = 2;

/// Timeout for waiting until a query may run. Each query ahead takes at most [`EVALUATION_TIME`],
/// so a query that waits longer is behind four of the slowest possible ones.
pub const PLACE_WAIT: Duration = Duration::from_secs(20);

/// Timeout for one evaluation. A query over 25,000 nodes takes some 30 ms.
pub const EVALUATION_TIME: Duration = Duration::from_secs(10);

/// Maximum number of JSON values in one answer of the embedded inventory: some 100 bytes each, so
/// 400 MB. All columns of 25,000 nodes are 425,000; all facts of 25,000 nodes are some 10 million
/// and are refused.
pub const MAX_ANSWER_VALUES: usize = 4_000_000;

// === a real PuppetDB ===

/// Timeout for one connection attempt, TLS included. Within a site it takes milliseconds.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout between two reads of a response. PuppetDB computes before its first byte.
pub const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for one query, over all servers that are tried.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum size of one response, in bytes. 25,000 rows of `nodes` are some 20 MB; as values in
/// memory five times as much.
pub const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// Number of bytes that error messages quote of a response that is not JSON, or of an error text.
pub const SHOWN_BYTES: usize = 1_024;

/// Number of bytes that are read of an error text.
pub const MAX_ERROR_BYTES: usize = 64 << 10;

/// Maximum number of users' requests to PuppetDB at once. With [`ENGINE_QUESTIONS`] they are 24;
/// PuppetDB itself has 25 connections to its database.
pub const QUESTIONS: usize = 8;

/// Maximum number of the engine's requests at once: nodes of jobs, their facts, reports of their
/// runs.
pub const ENGINE_QUESTIONS: usize = 16;

/// Number of nodes whose fact is requested at once: 5,000 names of 60 bytes are 300 KB of query.
pub const FACT_NODES: usize = 5_000;

/// Time for which a server that failed is tried last, so that not every request waits for it.
pub const AVOID_FAILED: Duration = Duration::from_secs(30);

/// First pause between two polls for a report; it is doubled up to [`REPORT_POLL_LAST`]. PuppetDB
/// stores a report some 50 to 300 ms after the agent has sent it, and a poll costs it some 5 ms.
pub const REPORT_POLL_FIRST: Duration = Duration::from_millis(50);
/// Longest pause between two polls for a report; see [`REPORT_POLL_FIRST`].
pub const REPORT_POLL_LAST: Duration = Duration::from_secs(2);

/// Time after which a PuppetDB that does not answer is no longer polled for a report. Otherwise
/// each run would wait for it, and count as running, as long as PuppetDB is down.
pub const REPORT_AWAY: Duration = Duration::from_secs(5);

/// Maximum time to wait for a report, regardless of the caller's timeout.
pub const REPORT_WAIT_MAX: Duration = Duration::from_secs(10 * 60);

// === the embedded inventory ===

/// Maximum size of the facts of one node, in bytes of JSON. Facter sends 10 to 60 KB; external
/// facts some more.
pub const MAX_FACTS_BYTES: usize = 1 << 20;

/// Maximum size of a report's summary, in bytes of JSON: some 40 metrics are 4 KB.
pub const MAX_REPORT_BYTES: usize = 256 << 10;

/// Maximum number of nodes that are kept: twice the number that one server is designed for.
pub const MAX_NODES: usize = 100_000;

/// Number of reports that are kept of each node.
pub const REPORTS_PER_NODE: usize = 5;

/// Number of locks for the reports of nodes. Some 64 reports are written at once when 10,000 nodes
/// report within a minute and a commit takes 0.4 s on a busy disk; few of them then share a lock.
pub const REPORT_LOCKS: usize = 256;

/// Number of values in the pool of shared values at its first sweep, which removes values of a
/// single node: of some 500 values of a node, 300 are its own, so this is after 200 nodes and 2
/// MB.
pub const POOL_FIRST_SWEEP: usize = 1 << 16;

/// Number of nodes read from the store in one batch at the start: 500 of 40 KB are 20 MB.
pub const LOAD_NODES: u64 = 500;

// === collecting facts ===

/// Interval between two collections from a node, the same as that of Puppet runs.
pub const FACTS_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// Timeout for the response of a node: Facter takes 1 to 5 seconds, on a busy machine 20.
pub const ASK_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum number of nodes that collect facts at once. 25,000 nodes in 30 minutes are 14 a second;
/// of 3 seconds each, 42 at once.
pub const ASKED_AT_ONCE: usize = 64;

/// Time within which the first facts of new nodes are requested.
pub const FIRST_FACTS_WITHIN: Duration = Duration::from_secs(10);

/// Pause before the next request to a node that did not answer.
pub const RETRY_FACTS: Duration = Duration::from_secs(5 * 60);

/// Maximum number of queued presence events, some 200 bytes each. They are processed together,
/// with one commit for their names.
pub const PRESENCE_BATCH: usize = 1_024;

/// Maximum length of an environment's name in a node's response, in bytes; it is a directory's
/// name on the server.
pub const ENVIRONMENT_BYTES: usize = 255;
