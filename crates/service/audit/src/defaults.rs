//! Limits and intervals of the audit, with the arithmetic behind them.

use std::time::Duration;

/// Maximum number of characters of a name, an id or an address in an entry; longer ones are
/// truncated, so that a login of a megabyte cannot fill the disk.
pub const NAME_CHARS: usize = 256;

/// Maximum size of an entry's details, in bytes of JSON. Larger details are left out, and the
/// entry notes it.
pub const DETAILS_BYTES: usize = 8 * 1_024;

/// Maximum number of results that wait to be written. A command adds one, and waits if the queue
/// is full; the writer commits all of them together in some 5 ms, so thousands of commands a
/// second fit.
pub const RESULTS: usize = 4_096;

/// Maximum number of results in one commit.
pub const RESULTS_TOGETHER: usize = 256;

/// Pause after a failure to write a result. New commands are refused meanwhile, so only results of
/// commands already in progress are added.
pub const RETRY: Duration = Duration::from_secs(1);

/// Time that a shutdown waits for the last results.
pub const SHUTDOWN: Duration = Duration::from_secs(10);

/// Time window in which refusals of one kind by one caller on one route are counted together: the
/// first is written at once, the others with their number at the end.
pub const FLOOD_WINDOW: Duration = Duration::from_secs(60);

/// Maximum number of different refusals per window: of known callers, and as many again of unknown
/// ones. At two entries of half a kilobyte each, the worst flood writes 256 KB a minute.
pub const FLOOD_KEYS: usize = 256;

/// Maximum number of them for anonymous callers from one network (an IPv4 address or 64 bits of an
/// IPv6 address): a caller that invents logins causes 16 immediate entries in a minute, each a
/// write to disk, and 16 such networks are counted separately.
pub const FLOOD_KEYS_PER_NETWORK: usize = 16;

/// Interval at which the head of the chain is written to the file beside the database, if it has
/// changed.
pub const HEAD_WRITTEN: Duration = Duration::from_secs(10);

/// Interval of the search for entries that have exceeded their retention time.
pub const PRUNE_EVERY: Duration = Duration::from_secs(6 * 60 * 60);

/// Number of entries deleted in one transaction: some 10 ms, so a commit behind it hardly waits.
pub const PRUNE_ROWS: u64 = 1_000;

/// Number of entries read at a time when the whole chain is read: 10 MB at most.
pub const PAGE: u64 = 1_000;

/// Maximum number of commands without a result that a verification remembers: 64 KiB times the 8
/// bytes of a number. Further ones are counted, but the oldest are no longer named.
pub const OPEN_INTENTS: usize = 64 * 1_024;

/// Number of these commands that a report names.
pub const NAMED_INTENTS: usize = 10;

/// Maximum number of contradicted heads that a response contains, oldest first: each contradiction
/// adds one, and one is sufficient evidence.
pub const KEPT_HEADS: usize = 100;
