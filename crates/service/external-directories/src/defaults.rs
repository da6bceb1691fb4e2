//! The bounds of what directories and identity providers are asked, with their arithmetic.

use std::time::Duration;

/// The longest that one question to one directory takes, connections included: whoever logs in
/// has an answer within this for each directory, and a server that trickles ends here.
pub const QUESTION: Duration = Duration::from_secs(20);

/// One operation on a connection.
pub const OPERATION: Duration = Duration::from_secs(10);

/// The longest `connect_timeout` that can be set, in seconds.
pub const CONNECT_SECONDS_MAX: u64 = 60;

/// Questions to directories at once, over all: each holds a connection. More logins wait for
/// their turn, for [`QUESTION`] at the most.
pub const QUESTIONS_AT_ONCE: usize = 32;

/// How long a host that failed is asked last.
pub const HOST_SHUNNED: Duration = Duration::from_secs(60);

/// Hosts of one directory.
pub const HOSTS: usize = 8;

/// Directories: each is asked in turn for a login that none knows.
pub const DIRECTORIES: usize = 16;

/// The longest login that a directory is asked for, in bytes, as `access` has it for names.
pub const LOGIN_BYTES: usize = 256;

/// Levels of groups in groups. Deeper ones are a mistake or a circle.
pub const GROUP_LEVELS: usize = 20;

/// Groups of one user: `access` takes 1,000 names, and each has its name and its DN.
pub const GROUPS: usize = 500;

/// Groups that one search asks for: a DN of 200 bytes each makes a filter of 10 KB.
pub const GROUPS_IN_FILTER: usize = 50;

/// Searches for the groups of one user: all levels of a narrow tree, or all groups of a wide one.
pub const GROUP_SEARCHES: usize = 64;

/// The longest text of a setting, in bytes.
pub const SETTING_BYTES: usize = 2_048;

/// The largest list of CA certificates: some 100 of them.
pub const CA_BYTES: usize = 256 * 1_024;

/// How much of a server's words is shown.
pub const SHOWN_CHARS: usize = 300;

/// How often a directory is asked again about users with good tokens, when nobody says: a user
/// who was removed there has no right here after a quarter of an hour and one round.
pub const RECHECK: Duration = Duration::from_secs(900);

/// Users asked about in one round; the rest are next in the following one, at once.
pub const RECHECK_BATCH: u32 = 100;

/// How often it is looked whether somebody is due.
pub const RECHECK_LOOK: Duration = Duration::from_secs(30);

/// Logins by an identity provider that were begun and not ended. 300 bytes each make 3 MB; the
/// oldest makes room.
pub const FLOWS: usize = 10_000;

/// How long such a login may take: somebody types a password and a second factor.
pub const FLOW_LIFE: Duration = Duration::from_secs(600);

/// One request to an identity provider.
pub const PROVIDER_REQUEST: Duration = Duration::from_secs(10);

/// The largest answer of one: key sets have some 10 KB.
pub const PROVIDER_BODY_BYTES: usize = 512 * 1_024;

/// Keys of a key set that are looked at.
pub const PROVIDER_KEYS: usize = 64;

/// How long a provider's addresses and keys are believed without asking again.
pub const PROVIDER_FRESH: Duration = Duration::from_secs(3_600);

/// An unknown key is asked for at most this often, or tokens with invented names of keys would
/// make this server a hammer.
pub const KEYS_AGAIN: Duration = Duration::from_secs(10);

/// How far the clocks of server and provider may differ.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The oldest ID token that is believed, by its time of issue.
pub const ID_TOKEN_AGE: Duration = Duration::from_secs(600);

/// How long a token lives that came from an identity provider, at the most, when nobody says:
/// a working day. A provider cannot be asked again whether the user is still there.
pub const OIDC_LIFETIME: Duration = Duration::from_secs(12 * 3_600);
