//! The bounds of logins and tokens, with their arithmetic.

use std::time::Duration;

/// How long a token lives when nobody says: an hour.
pub const LIFETIME: Duration = Duration::from_secs(3_600);

/// The longest life of a token: ten years of 365 days, which `0` asks for.
pub const MAX_LIFETIME: Duration = Duration::from_secs(10 * 365 * 24 * 3_600);

/// How long an expired token is remembered, so that its owner is told what is wrong: a week.
pub const EXPIRED_KEPT: Duration = Duration::from_secs(7 * 24 * 3_600);

/// The longest label of a token, in characters.
pub const LABEL_CHARS: usize = 200;

/// The longest login and password, in bytes: argon2 would take 4 GiB, and time with it.
pub const CREDENTIAL_BYTES: usize = 1_024;

/// Passwords of anonymous logins that are checked at once. Each takes 19 MiB and some 20 ms of one
/// core, so two leave the server its memory and its other work.
pub const PASSWORD_CHECKS: usize = 2;

/// Further passwords that are checked at once for clients with a session or a client certificate,
/// which never wait for anonymous logins.
pub const KNOWN_PASSWORD_CHECKS: usize = 1;

/// Attempts of one source that wait or are checked: with one at a time and 20 ms each, the last one
/// waits 640 ms; those beyond are refused at once with a time to come again.
pub const PASSWORD_QUEUE_PER_SOURCE: usize = 32;

/// Attempts of all sources together that wait or are checked; each source has one attempt in the
/// line for a turn. 1,024 × 1 KB.
pub const PASSWORD_QUEUE: usize = 1_024;

/// Questions to a directory at once for the attempts of one source: half of those that all have.
pub const DIRECTORY_QUESTIONS_PER_SOURCE: usize = 16;

/// How many failed logins in a row, from one address, lock a login for that address.
pub const FAILED_LOGINS: u32 = 10;

/// How long: some 3,000 guesses a day are left to an attacker, and a person waits for a coffee.
pub const LOCK_OUT: Duration = Duration::from_secs(300);

/// Time for which a user is locked after [`FAILED_LOGINS`] failures, from all sources together. The
/// lock ends by itself, and failures meanwhile do not extend it: anonymous attempts lock no user
/// out for good.
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

/// A source and a password are forgiven one failure in this time, ten in a minute: what many users
/// behind one address mistype.
pub const FAILURE_DECAY: Duration = Duration::from_secs(6);

/// For how many names one password may fail at full speed.
pub const UNSLOWED_PASSWORD_USES: u32 = 10;

/// Failures of a name (from all sources) or of a source that are answered at full speed: five
/// people's locks. Beyond, every attempt waits, also the right one, but none is refused.
pub const UNSLOWED_FAILURES: u32 = 50;

/// How much longer each further failure makes the next attempt wait.
pub const SLOW_STEP: Duration = Duration::from_millis(100);

/// The longest wait: the owner of a login under attack can still use it.
pub const SLOWEST: Duration = Duration::from_secs(5);

/// Bytes of chance in a token: as many as its hash has.
pub const TOKEN_BYTES: usize = 32;

/// Bytes of chance in the first administrator's password: 24 characters, 144 bits.
pub const PASSWORD_BYTES: usize = 18;

/// Tokens that are remembered between requests. An entry has 100 bytes and an identity of some
/// 500, which the tokens of one user do not share: 6 MB at the most.
pub const TOKEN_CACHE: usize = 10_000;

/// How often the last use of tokens is written: one transaction a minute, not one a request.
pub const ACTIVITY_WRITTEN: Duration = Duration::from_secs(60);

/// Tokens that one user may have at once; a program that forgets its tokens does not fill the
/// database.
pub const TOKENS_PER_USER: u64 = 10_000;

/// The longest description and client of a token, in characters.
pub const TOKEN_TEXT_CHARS: usize = 1_000;

/// How long a password can be set by a reset token, as in Puppet Enterprise.
pub const RESET_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

/// The shortest password, in characters.
pub const PASSWORD_CHARS: usize = 8;

/// The longest login, name and e-mail address, in characters.
pub const NAME_CHARS: usize = 256;

/// The longest description of a role and the longest disclaimer, in characters.
pub const TEXT_CHARS: usize = 10_000;

/// The longest instance of a permission, in bytes: names of tasks and UUIDs are shorter.
pub const INSTANCE_BYTES: usize = 512;

/// Groups of a directory that count for one user.
pub const REMOTE_GROUPS: usize = 1_000;

/// Task targets: all of them are read where somebody is asked for who may run tasks on the nodes
/// of any of them.
pub const TASK_TARGETS: usize = 1_000;
