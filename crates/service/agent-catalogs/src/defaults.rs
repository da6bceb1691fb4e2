//! Limits of this crate, with their reasons.

use std::time::Duration;

/// Files below one source of a resource. Each takes some 400 bytes in the catalog, so 40 MB; Puppet warns
/// from 1,000 on.
pub const STATIC_FILES_MAX: usize = 100_000;

/// Catalogs of one node that are kept: that of the running Puppet run, and two before, whose files an agent
/// that starts late, or runs from its cache, may still request.
pub const CATALOGS_EACH_MAX: usize = 3;

/// Compilations of one node whose causes are recorded: those of a busy day. Each takes some 500 bytes, so
/// 100 MB for 10,000 nodes.
pub const COMPILATIONS_EACH_MAX: u64 = 20;

/// Bytes of all catalogs in memory. A catalog has some 50 to 400 KB as text and a tenth of it compressed, so
/// those of 20,000 nodes. The catalogs of other nodes are read from the database.
pub const KEPT_BYTES_MAX: usize = 512 << 20;

/// Part of these bytes that is freed at once: to find the nodes that asked longest ago takes 5 ms for 50,000
/// nodes, and is done once for each 600 new catalogs then.
pub const GIVE_UP_PART: usize = 32;

/// Changes that wait to be written: catalogs of 1,000 nodes, compiled in 20 s on two cores. The database
/// takes some 150 transactions a second, each with up to [`WRITES_TOGETHER_MAX`] changes.
pub const WRITES_WAITING_MAX: usize = 1_024;

/// Bytes of the documents that wait to be written. They are in memory anyway as the newest catalogs of
/// their nodes.
pub const WRITES_WAITING_BYTES_MAX: usize = 64 << 20;

/// Changes that are written in one transaction; a change takes up to seven statements.
pub const WRITES_TOGETHER_MAX: usize = 64;

/// Bytes of the documents from which on no further change is added to a transaction.
pub const WRITES_TOGETHER_BYTES_MAX: usize = 4 << 20;

/// Time without use after which a catalog is deleted. An agent that was away for longer compiles a new one.
pub const KEEP_UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Pause between two deletions of unused catalogs.
pub const PRUNE_CATALOGS: Duration = Duration::from_secs(6 * 60 * 60);

/// Time after which the use of a catalog is recorded again: a thirtieth of [`KEEP_UNUSED`], so that 10,000
/// nodes cause one write in 9 s.
pub const RECORD_USE: Duration = Duration::from_secs(24 * 60 * 60);

/// The caller of compilations in advance, among those who have parts of the queue.
pub const AHEAD_CALLER: &str = "catalogs in advance";

/// Part of the slots for compilations in advance: the others are free for nodes that ask, which otherwise
/// wait for the end of such a compilation.
pub const AHEAD_PART_OF_SLOTS: usize = 2;

/// Time since the last use of a catalog in which the next one is compiled in advance: the use is recorded
/// once a day, and a node that did not ask since is likely to be away.
pub const AHEAD_USED_WITHIN: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// Nodes whose catalogs cannot be compiled in advance, and whose errors are logged, for each deployment: code
/// that fails for all nodes says the same for each.
pub const AHEAD_FAILURES_LOGGED: usize = 10;

/// Certnames that are read from the database at once.
pub const AHEAD_NODES_PAGE: u64 = 1_000;

/// Names of facts, files or queries that are recorded as the cause of a compilation: what fits on a screen.
pub const CAUSE_NAMES_MAX: usize = 20;

/// Characters of such a query, and of an error: two lines of a screen.
pub const CAUSE_TEXT_MAX: usize = 200;

/// Longest source text of a block in bytes: that of the file with its plan, some KB. Text of one-byte tokens takes
/// 175 bytes for each in the parser, so 23 MB.
pub const BLOCK_TEXT_BYTES_MAX: usize = 128 << 10;

/// Bytes that a block counts in the queue of compilations for each byte of its text: 175 in the parser, and the queue
/// counts the bytes of JSON, which take five times as much as values. With the longest texts, 4.6 MB each, a caller has
/// three blocks in its part of the queue; with those of 5 KB, fifty.
pub const BLOCK_TEXT_BYTE_IN_QUEUE: usize = 35;

/// Longest name of that file in bytes, which is Linux's limit of paths.
pub const BLOCK_FILE_BYTES_MAX: usize = 4_096;

/// Bytes of the variables of a block with their references resolved: twice the largest request, since a value has
/// fewer bytes in JSON than here.
pub const BLOCK_VALUES_BYTES_MAX: usize = 32 << 20;

/// Bytes that a value takes besides its text.
pub const BLOCK_VALUE_BYTES: usize = 32;

/// Levels of a variable's value: JSON has at most 128, and a reference may lead to further ones. Values of 512 are
/// allowed elsewhere.
pub const BLOCK_VALUES_DEPTH_MAX: usize = 256;

/// Nodes whose imported data are compared at a time: half of the queries that the engine runs for such comparisons, so
/// that agents that ask for catalogs wait for few of them.
pub const IMPORT_CHECKS: usize = 4;

/// Nodes in a row whose imported data could not be compared, after which the others are not asked for. With 10 seconds for each and
/// four at a time, a source that does not answer is noticed after 40 seconds.
pub const IMPORT_FAILURES: usize = 16;

/// Nodes whose last compilation failed, and whose queries are remembered: with ten queries of 200 bytes each, 20 MB.
pub const FAILED_IMPORTS_MAX: usize = 10_000;
