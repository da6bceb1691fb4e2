//! The limits and intervals of this crate, each with its reason.

use std::time::Duration;

/// Lifetime of a certificate: five years, as puppetserver's `ca-ttl`.
pub const CERTIFICATE_LIFETIME: Duration = Duration::from_secs(5 * 365 * 24 * 3600);

/// Lifetime of a CA certificate: fifteen years, as in `puppetserver ca setup`.
pub const CA_LIFETIME: Duration = Duration::from_secs(15 * 365 * 24 * 3600);

/// `nextUpdate` of a revocation list: five years, as in puppetserver, because agents that check the
/// list refuse all connections once it has expired.
pub const CRL_LIFETIME: Duration = Duration::from_secs(5 * 365 * 24 * 3600);

/// Certificates are valid from a day ago, so that nodes whose clock is slow accept them.
pub const CLOCK_SKEW: Duration = Duration::from_secs(24 * 3600);

/// Lifetime that a renewal must add at least, else the holder gets the same certificate again. So a holder
/// that asks in a loop gets one a day, and a response that was lost costs no serial number.
pub const RENEWAL_GAIN: Duration = Duration::from_secs(24 * 3600);

/// Largest certificate request that is read. An RSA-4096 request with ten
/// extensions has about 2.5 KB, an RSA-16384 request about 6 KB.
pub const MAX_CSR_BYTES: usize = 16 * 1024;

/// Largest PEM file that is read. A revocation list of 100,000 entries has
/// about 5 MB in PEM.
pub const MAX_PEM_BYTES: u64 = 64 * 1024 * 1024;

/// Longest certname in bytes: `NAME.pem` must fit the 255 bytes of a file name.
pub const MAX_CERTNAME_BYTES: usize = 251;

/// Most requests that wait for a signature. Any client may submit one, so the disk must be
/// protected: 50,000 (the largest supported fleet) x 2.5 KB = 125 MB, and x [`MAX_CSR_BYTES`] = 800
/// MB in the worst case. In memory a request takes some 100 bytes, so 5 MB.
pub const MAX_PENDING_REQUESTS: usize = 50_000;

/// Requests of one network that wait for a signature: a tenth of the list, so
/// that ten networks are needed to fill it, and a whole site behind one
/// address can still be brought up at once. At most 80 MB.
pub const MAX_PENDING_PER_SOURCE: usize = MAX_PENDING_REQUESTS / 10;

/// Duration for which the list of waiting requests is used without reading its directory again.
/// During a flood, each request would otherwise read up to 50,000 names. If another program signs
/// or deletes a request, its network can submit a new one at most this much later.
pub const WAITING_LIST_FRESH: Duration = Duration::from_secs(1);

/// Certificates of clients that are not verified again: two for each node of the largest supported fleet (50,000), as after
/// a renewal. They take 4.3 MB: 33 bytes for each of 131,072 places in the table. After a reload all are forgotten.
pub const VERIFIED_CLIENTS_MAX: usize = 100_000;

/// Quiet time after the first file event before files are read again. A certificate and its key are
/// usually replaced within a few milliseconds.
pub const RELOAD_SETTLE: Duration = Duration::from_millis(100);

/// Interval at which files are compared if the kernel cannot report changes. Twice a second keeps a
/// reload under one second.
pub const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Interval at which files are compared although the kernel reports changes: network file systems
/// do not report writes of other machines.
pub const RECHECK_INTERVAL: Duration = Duration::from_secs(5);
