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

/// How many passwords are checked at once. Each takes 19 MiB and some 20 ms of one core, so two
/// leave the server its memory and its other work.
pub const PASSWORD_CHECKS: usize = 2;

/// How many passwords are checked or wait for it. With two at once and 20 ms each, the last one
/// waits 640 ms; those beyond are told to come again at once.
pub const PASSWORD_QUEUE: usize = 64;

/// How many failed logins in a row, from one address, lock a login for that address.
pub const FAILED_LOGINS: u32 = 10;

/// How long: some 3,000 guesses a day are left to an attacker, and a person waits for a coffee.
pub const LOCK_OUT: Duration = Duration::from_secs(300);

/// Addresses that are remembered for each user; the one that failed longest ago makes room. 48
/// bytes each make 12 KiB for a user under attack from everywhere.
pub const SOURCES_PER_USER: usize = 256;

/// Counters for logins that do not exist. They share these, so that guessing names takes no
/// memory; 16 bytes each make 16 KiB, twice: for addresses and for names.
pub const UNKNOWN_LOGINS: usize = 1_024;

/// How many failures of a login, from wherever, are answered at full speed: five people's locks.
/// Beyond, every attempt waits, also the right one, but nobody is refused.
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
