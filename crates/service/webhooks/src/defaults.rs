//! Limits and timeouts of this crate, with their reasons.

use std::time::Duration;

/// Maximum number of webhooks. Each has one task and at most one request in progress, so this also
/// bounds requests and memory (64 * one event).
pub const WEBHOOKS: usize = 64;

/// Interval at which the event log is polled. An event reaches its receiver within this time plus
/// a request; 64 webhooks query the store 128 times a second at most, for an index's last entry.
pub const POLL: Duration = Duration::from_millis(500);

/// Maximum number of events read at once; an event has at most some KiB, so a webhook holds less
/// than 1 MiB.
pub const BATCH: usize = 100;

/// Number of processed events after which progress is stored: one durable write for a batch, so
/// after a crash at most one batch is sent twice.
pub const PROGRESS_EVENTS: i64 = 100;

/// Timeout of one request. A slower receiver gets the event again; it should accept the event
/// first and process it later.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for connecting to a receiver.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// First pause after a failure; it doubles up to [`BACKOFF_MAX`].
pub const BACKOFF_MIN: Duration = Duration::from_secs(1);
/// Longest pause. One attempt in five minutes reaches a recovered receiver soon enough, at
/// negligible cost.
pub const BACKOFF_MAX: Duration = Duration::from_secs(300);

/// Time for which delivery of an event is tried: a receiver that is down overnight gets all events
/// in the morning. Afterwards the event is given up and counted.
pub const GIVE_UP: Duration = Duration::from_secs(24 * 3600);

/// Maximum length of a URL, in bytes.
pub const URL_BYTES: usize = 2_048;
/// Maximum length of a description, in characters.
pub const DESCRIPTION_CHARS: usize = 1_000;
/// Maximum number of event types in a filter.
pub const EVENT_TYPES: usize = 32;
/// Length of a secret chosen by a user, in bytes; generated ones have 32.
pub const SECRET_BYTES: std::ops::RangeInclusive<usize> = 16..=256;

/// Maximum length of a stored error text, in characters.
pub const ERROR_CHARS: usize = 300;

/// Pause after a failure of the store.
pub const STORE_PAUSE: Duration = Duration::from_secs(2);

/// Maximum length of a title or a name in a message for people, in characters: a line of a chat,
/// and two of a telephone.
pub(crate) const NOTICE_NAME_CHARS: usize = 200;
/// Maximum length of an event's text in a message for people, in characters. With every character
/// escaped it still fits into the 1,024 characters of a field of Discord or is cut there; Slack
/// takes 3,000, and a Teams card 28 KB as a whole.
pub(crate) const NOTICE_TEXT_CHARS: usize = 1_000;
