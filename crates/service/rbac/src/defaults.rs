//! Limits of logins and tokens, with the arithmetic behind them.

use std::time::Duration;

/// Lifetime of a token if the request has none: an hour.
pub const LIFETIME: Duration = Duration::from_secs(3_600);

/// Maximum lifetime of a token: ten years of 365 days, which the lifetime `0` requests.
pub const MAX_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// Time for which an expired token is kept, so that the error can name the cause: a week.
pub const EXPIRED_KEPT: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Maximum length of the label of a token, in characters.
pub const LABEL_CHARS: usize = 200;

/// Maximum length of a login or password, in bytes. argon2 itself accepts 4 GiB, which would take
/// correspondingly long.
pub const CREDENTIAL_BYTES: usize = 1_024;

/// Passwords of anonymous logins that are checked at once. Each takes 19 MiB and some 20 ms of one
/// core, so two leave the server its memory and its other work.
pub const PASSWORD_CHECKS: usize = 2;

/// Further passwords that are checked at once for clients with a session or a client certificate,
/// which never wait for anonymous logins.
pub const KNOWN_PASSWORD_CHECKS: usize = 1;

/// Attempts of one source that wait or are checked. With one at a time and 20 ms each, the last one
/// waits 640 ms. Further attempts are refused at once, with a time to retry.
pub const PASSWORD_QUEUE_PER_SOURCE: usize = 32;

/// Attempts of all sources together that wait or are checked; each source has at most one attempt
/// in the common queue. 1,024 × 1 KB.
pub const PASSWORD_QUEUE: usize = 1_024;

/// Concurrent queries to a directory for the attempts of one source: half of the total.
pub const DIRECTORY_QUESTIONS_PER_SOURCE: usize = 16;

/// Consecutive failed logins from one address that lock the login for that address.
pub const FAILED_LOGINS: u32 = 10;

/// Duration of that lock. It leaves an attacker some 3,000 guesses a day, and is short enough for a
/// user to wait.
pub const LOCK_OUT: Duration = Duration::from_secs(300);

/// Time for which a user is locked after [`FAILED_LOGINS`] failures, from all sources together. The
/// lock ends by itself, and failures meanwhile do not extend it, so anonymous attempts cannot lock
/// a user out permanently.
pub const USER_LOCK: Duration = Duration::from_secs(1_800);

/// Networks remembered for each user, from which the user has logged in: 24 bytes each.
pub const SOURCES_PER_USER: usize = 64;

/// Counters of failures for pairs of name and source, about 200 bytes each: 800 KB.
pub const COUNTED_PAIRS: usize = 4_096;

/// Counters for names, about 150 bytes each: 300 KB.
pub const COUNTED_NAMES: usize = 2_048;

/// Counters for sources, about 60 bytes each: 120 KB.
pub const COUNTED_SOURCES: usize = 2_048;

/// Counters for passwords, about 200 bytes each with the name that failed last: 400 KB.
pub const COUNTED_PASSWORDS: usize = 2_048;

/// Time after which the counter of a source or a password drops by one: ten a minute, which allows
/// for the typos of many users behind one address.
pub const FAILURE_DECAY: Duration = Duration::from_secs(6);

/// Number of names for which one password may fail without delay.
pub const UNSLOWED_PASSWORD_USES: u32 = 10;

/// Failures of a name (from all sources) or of a source without delay: five times the failures that
/// lock. Beyond that every attempt is delayed, even with the correct password, but none is refused.
pub const UNSLOWED_FAILURES: u32 = 50;

/// Additional delay of the next attempt for each further failure.
pub const SLOW_STEP: Duration = Duration::from_millis(100);

/// Maximum delay. The owner of a login under attack can still use it.
pub const SLOWEST: Duration = Duration::from_secs(5);

/// Random bytes in a token: as many as its hash has.
pub const TOKEN_BYTES: usize = 32;

/// Random bytes in the first administrator's password: 24 characters, 144 bits.
pub const PASSWORD_BYTES: usize = 18;

/// Tokens in the cache. An entry has 100 bytes and an identity of some 500, which the tokens of one
/// user do not share: 6 MB at most.
pub const TOKEN_CACHE: usize = 10_000;

/// Interval at which the last use of tokens is written: one transaction a minute, not one a
/// request.
pub const ACTIVITY_WRITTEN: Duration = Duration::from_secs(60);

/// Maximum number of tokens of one user, so that a program that discards its tokens cannot fill the
/// database.
pub const TOKENS_PER_USER: u64 = 10_000;

/// Maximum length of the description and the client of a token, in characters.
pub const TOKEN_TEXT_CHARS: usize = 1_000;

/// Lifetime of a password reset token, as in Puppet Enterprise.
pub const RESET_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// Minimum length of a password, in characters.
pub const PASSWORD_CHARS: usize = 8;

/// Maximum length of a login, name or e-mail address, in characters.
pub const NAME_CHARS: usize = 256;

/// Maximum length of the description of a role and of the disclaimer, in characters.
pub const TEXT_CHARS: usize = 10_000;

/// Maximum length of the instance of a permission, in bytes; names of tasks and UUIDs are shorter.
pub const INSTANCE_BYTES: usize = 512;

/// Groups of a directory that count for one user.
pub const REMOTE_GROUPS: usize = 1_000;

/// Maximum number of task targets. All of them are read when the permission of a user with task
/// targets is checked.
pub const TASK_TARGETS: usize = 1_000;
