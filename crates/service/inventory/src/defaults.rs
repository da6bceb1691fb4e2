//! Every bound of the inventory, with its arithmetic.

use std::time::Duration;

// === queries ===

/// A query's text. A list of 50,000 certnames of 60 bytes each is 3 MB.
pub const MAX_QUERY_BYTES: usize = 4 << 20;

/// Nesting of a query. People nest some five deep; each level of the parser is some hundred bytes
/// of stack.
pub const MAX_QUERY_DEPTH: usize = 64;

/// Columns of one list.
pub const MAX_COLUMNS: usize = 64;

/// Parts of a dotted field. Facter nests some six deep.
pub const MAX_PATH_SEGMENTS: usize = 32;

/// One compiled regular expression; `regex` itself has 10 MiB.
pub const MAX_REGEX_BYTES: usize = 1 << 20;

/// Regular expressions of one query: 64 MiB at the most.
pub const MAX_REGEXES: usize = 64;

/// Queries in one query: each is one walk over all nodes.
pub const MAX_SELECTS: usize = 16;

/// Queries of people that the embedded inventory evaluates at once: each keeps one core busy and may
/// hold an answer.
pub const EVALUATIONS: usize = 2;

/// As many for the engine alone, which names nodes of jobs and holds no rows: whatever people ask,
/// a job's start waits for other jobs' starts only.
pub const ENGINE_EVALUATIONS: usize = 2;

/// How long a query may wait for its place. Each query ahead takes [`EVALUATION_TIME`] at the most,
/// so whoever waits longer stands behind four of the slowest that there may be.
pub const PLACE_WAIT: Duration = Duration::from_secs(20);

/// How long one evaluation may take. A query over 25,000 nodes takes some 30 ms.
pub const EVALUATION_TIME: Duration = Duration::from_secs(10);

/// JSON values of one answer of the embedded inventory: some 100 bytes each, so 400 MB. All columns
/// of 25,000 nodes are 425,000; all facts of 25,000 nodes are some 10 million and are refused.
pub const MAX_ANSWER_VALUES: usize = 4_000_000;

// === a real PuppetDB ===

/// One connection attempt, TLS included. Within a site it takes milliseconds.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Between two reads of an answer. PuppetDB computes before its first byte.
pub const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// One question, over all servers that are tried.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(60);

/// One answer. 25,000 rows of `nodes` are some 20 MB; as values in memory five times as much.
pub const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// What is shown of an answer that is no JSON, or of an error text.
pub const SHOWN_BYTES: usize = 1_024;

/// An error text is read up to here.
pub const MAX_ERROR_BYTES: usize = 64 << 10;

/// Questions of people on their way at once. With [`ENGINE_QUESTIONS`] they are 24; PuppetDB itself
/// has 25 connections to its database.
pub const QUESTIONS: usize = 8;

/// Questions of the engine on their way at once: nodes of jobs, their facts, reports of their runs.
pub const ENGINE_QUESTIONS: usize = 16;

/// Nodes whose fact is asked for in one question: 5,000 names of 60 bytes are 300 KB of query.
pub const FACT_NODES: usize = 5_000;

/// A server that failed is asked last for so long, so that not every question waits for it.
pub const AVOID_FAILED: Duration = Duration::from_secs(30);

/// Pauses between two looks for a report: doubled from the first to the last. PuppetDB stores a
/// report some 50 to 300 ms after the agent has sent it, and a look costs it some 5 ms.
pub const REPORT_POLL_FIRST: Duration = Duration::from_millis(50);
/// See [`REPORT_POLL_FIRST`].
pub const REPORT_POLL_LAST: Duration = Duration::from_secs(2);

/// How long a PuppetDB that does not answer is asked for a report. Each run would wait for it, with
/// its place among those that run, as long as PuppetDB is down.
pub const REPORT_AWAY: Duration = Duration::from_secs(5);

/// How long a report may be waited for, whatever a caller asks.
pub const REPORT_WAIT_MAX: Duration = Duration::from_secs(10 * 60);

// === the embedded inventory ===

/// Facts of one node, as JSON text. Facter tells 10 to 60 KB; external facts some more.
pub const MAX_FACTS_BYTES: usize = 1 << 20;

/// A report's summary, as JSON text: some 40 metrics are 4 KB.
pub const MAX_REPORT_BYTES: usize = 256 << 10;

/// Nodes that are kept. Twice what one server is built for.
pub const MAX_NODES: usize = 100_000;

/// Reports that are kept of each node.
pub const REPORTS_PER_NODE: usize = 5;

/// Values in the pool of what nodes have in common, before it forgets for the first time what only
/// one node has: of some 500 values of a node, 300 are its own, so this is after 200 nodes and 2 MB.
pub const POOL_FIRST_SWEEP: usize = 1 << 16;

/// Nodes that are read from the store at once at the start: 500 of 40 KB are 20 MB.
pub const LOAD_NODES: u64 = 500;

// === collecting facts ===

/// Between two collections from a node, as often as Puppet runs.
pub const FACTS_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// How long a node may take: Facter takes 1 to 5 seconds, on a busy machine 20.
pub const ASK_TIMEOUT: Duration = Duration::from_secs(60);

/// Nodes that are asked at once. 25,000 nodes in 30 minutes are 14 a second; of 3 seconds each,
/// 42 at once.
pub const ASKED_AT_ONCE: usize = 64;

/// The first facts of nodes that are new come within this time.
pub const FIRST_FACTS_WITHIN: Duration = Duration::from_secs(10);

/// After a node that did not answer.
pub const RETRY_FACTS: Duration = Duration::from_secs(5 * 60);

/// News of the fleet that wait, some 200 bytes each, and are taken together: one commit for their
/// names.
pub const PRESENCE_BATCH: usize = 1_024;

/// The name of an environment that a node tells; it is a directory's name on the server.
pub const ENVIRONMENT_BYTES: usize = 255;
