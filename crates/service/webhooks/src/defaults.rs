//! Every limit of this crate, with its reason.

use std::time::Duration;

/// Webhooks of an installation. Each has one task and at most one request under way, so this is
/// also the bound of requests and of memory (64 * one event).
pub const WEBHOOKS: usize = 64;

/// How often the event log is looked at. A job's event reaches its receiver within this and a
/// request; 64 webhooks ask the store 128 times a second at most, for an index's last entry.
pub const POLL: Duration = Duration::from_millis(500);

/// Events read at once; an event has at most some KiB, so a webhook holds less than 1 MiB.
pub const BATCH: usize = 100;

/// After this many events taken, progress is written down: one durable write for a batch, and what
/// is told twice after a crash is no more than a batch.
pub const PROGRESS_EVENTS: i64 = 100;

/// A receiver that needs longer is told again; it should take the event and work later.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// To reach it.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The first wait after a failure; doubles up to [`BACKOFF_MAX`].
pub const BACKOFF_MIN: Duration = Duration::from_secs(1);
/// Once in five minutes finds a receiver that is back soon enough and costs nothing.
pub const BACKOFF_MAX: Duration = Duration::from_secs(300);

/// How long an event is tried: a receiver that is away over a night gets everything in the
/// morning. Then it is given up and counted.
pub const GIVE_UP: Duration = Duration::from_secs(24 * 3600);

/// A URL's length.
pub const URL_BYTES: usize = 2_048;
/// A description's length, in characters.
pub const DESCRIPTION_CHARS: usize = 1_000;
/// Types of events in a filter.
pub const EVENT_TYPES: usize = 32;
/// The length of a secret that is given; ours have 32 bytes.
pub const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=256;

/// An error text that is kept.
pub const ERROR_CHARS: usize = 300;

/// Reconciling after a failure of the store.
pub const STORE_PAUSE: Duration = Duration::from_secs(2);

/// A title or a name in a message for people, in characters: a line of a chat, and two of a telephone.
pub(crate) const NOTICE_NAME_CHARS: usize = 200;
/// The text of an event in a message for people, in characters. With every one of them escaped it still fits into the
/// 1,024 characters of a field of Discord or is cut there; Slack takes 3,000, and a Teams card 28 KB as a whole.
pub(crate) const NOTICE_TEXT_CHARS: usize = 1_000;
