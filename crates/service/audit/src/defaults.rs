//! Every bound of the audit, with its arithmetic.

use std::time::Duration;

/// Characters of a name, an id or an address in an entry; longer ones are clipped, so that nobody
/// fills the disk with a login of a megabyte.
pub const NAME_CHARS: usize = 256;

/// Bytes of an entry's details as JSON. What is longer is left out, and the entry says so.
pub const DETAILS_BYTES: usize = 8 * 1_024;

/// Results that wait to be written. A command adds one and waits if there is no place; the writer
/// takes them all together with one commit, some 5 ms, so thousands of commands a second fit.
pub const RESULTS: usize = 4_096;

/// Results in one commit.
pub const RESULTS_TOGETHER: usize = 256;

/// Pause after a result could not be written. New commands are refused meanwhile, so no more come
/// than were under way.
pub const RETRY: Duration = Duration::from_secs(1);

/// How long a shutdown waits for the last results.
pub const SHUTDOWN: Duration = Duration::from_secs(10);

/// Refusals of one kind by one caller on one route are counted together for so long: the first is
/// written at once, the others with their number at the end.
pub const FLOOD_WINDOW: Duration = Duration::from_secs(60);

/// Different refusals told apart in one window: of callers who are known, and as many again of
/// those who are not. At two entries of half a kilobyte each, the worst flood writes 256 KB a
/// minute.
pub const FLOOD_KEYS: usize = 256;

/// Of these, refusals of anonymous callers from one network (an IPv4 address or 64 bits of an IPv6
/// address): one that invents logins makes 16 entries at once in a minute, each a write to disk,
/// and 16 networks are told apart while it does.
pub const FLOOD_KEYS_PER_NETWORK: usize = 16;

/// How often the head of the chain is written beside the database, if it has changed.
pub const HEAD_WRITTEN: Duration = Duration::from_secs(10);

/// How often entries that are older than they need to be are looked for.
pub const PRUNE_EVERY: Duration = Duration::from_secs(6 * 60 * 60);

/// Entries deleted in one transaction: some 10 ms, so a commit behind it hardly waits.
pub const PRUNE_ROWS: u64 = 1_000;

/// Entries read at a time where the whole chain is read: at the largest 10 MB.
pub const PAGE: u64 = 1_000;

/// Commands without a result that a verification remembers: 64 KiB times the 8 bytes of a number.
/// A longer list is counted, and its oldest are named no more.
pub const OPEN_INTENTS: usize = 64 * 1_024;

/// Of them, how many a report names.
pub const NAMED_INTENTS: usize = 10;

/// Heads that were put aside and that an answer names, the oldest first: each contradiction makes one, and one
/// is enough.
pub const KEPT_HEADS: usize = 100;
