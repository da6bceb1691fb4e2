//! Limits of queries to directories and identity providers, with the arithmetic behind them.

use std::time::Duration;

/// Timeout of one query to one directory, connections included. It also bounds a login per
/// directory, and ends a query to a server that sends its response slowly.
pub const QUESTION: Duration = Duration::from_secs(20);

/// Timeout of one operation on a connection.
pub const OPERATION: Duration = Duration::from_secs(10);

/// Maximum `connect_timeout` that can be set, in seconds.
pub const CONNECT_SECONDS_MAX: u64 = 60;

/// Concurrent queries to all directories together, each with a connection. Further logins wait for
/// their turn, at most for [`QUESTION`].
pub const QUESTIONS_AT_ONCE: usize = 32;

/// Time for which a host that failed is tried last.
pub const HOST_SHUNNED: Duration = Duration::from_secs(60);

/// Maximum number of hosts of one directory.
pub const HOSTS: usize = 8;

/// Maximum number of directories. For an unknown login each of them is queried in turn.
pub const DIRECTORIES: usize = 16;

/// Maximum length of a login that a directory is queried for, in bytes: the limit of `rbac` for
/// names.
pub const LOGIN_BYTES: usize = 256;

/// Maximum depth of nested groups. Deeper nesting is a mistake or a cycle.
pub const GROUP_LEVELS: usize = 20;

/// Maximum number of groups of one user: `rbac` takes 1,000 names, and each group has a name and a
/// DN.
pub const GROUPS: usize = 500;

/// Groups in the filter of one search: with DNs of 200 bytes the filter has 10 KB.
pub const GROUPS_IN_FILTER: usize = 50;

/// Maximum number of searches for the groups of one user: enough for all levels of a narrow tree,
/// or for all groups of a wide one.
pub const GROUP_SEARCHES: usize = 64;

/// Maximum length of a text setting, in bytes.
pub const SETTING_BYTES: usize = 2_048;

/// Maximum size of the list of CA certificates, in bytes: some 100 certificates.
pub const CA_BYTES: usize = 256 * 1_024;

/// Maximum length of a message of a server that is shown, in characters.
pub const SHOWN_CHARS: usize = 300;

/// Default interval at which users with valid tokens are checked against their directory. A user
/// who was removed there loses all permissions here after a quarter of an hour and one round.
pub const RECHECK: Duration = Duration::from_secs(900);

/// Users checked in one round. The next round starts at once if more users are due.
pub const RECHECK_BATCH: u32 = 100;

/// Interval at which the store is searched for users who are due.
pub const RECHECK_LOOK: Duration = Duration::from_secs(30);

/// Maximum number of pending logins with an identity provider. 300 bytes each make 3 MB. Beyond
/// that the oldest is dropped.
pub const FLOWS: usize = 10_000;

/// Maximum duration of such a login: the user types a password and a second factor.
pub const FLOW_LIFE: Duration = Duration::from_secs(600);

/// Timeout of one request to an identity provider.
pub const PROVIDER_REQUEST: Duration = Duration::from_secs(10);

/// Maximum size of its response, in bytes: key sets have some 10 KB.
pub const PROVIDER_BODY_BYTES: usize = 512 * 1_024;

/// Maximum number of keys read from a key set.
pub const PROVIDER_KEYS: usize = 64;

/// Time for which the endpoints and keys of a provider are cached.
pub const PROVIDER_FRESH: Duration = Duration::from_secs(3_600);

/// Minimum interval between requests for an unknown key. Otherwise tokens with invented key ids
/// would make this server flood the provider.
pub const KEYS_AGAIN: Duration = Duration::from_secs(10);

/// Maximum difference between the clocks of server and provider.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Maximum age of an ID token, by its time of issue.
pub const ID_TOKEN_AGE: Duration = Duration::from_secs(600);

/// Default maximum lifetime of tokens issued after a login with an identity provider: a working
/// day. A provider offers no way to check later if the user still exists.
pub const OIDC_LIFETIME: Duration = Duration::from_secs(12 * 3_600);
