//! The numbers of this crate, with their reasons.

use std::time::Duration;

/// Largest body. The only ones are certificate requests (an RSA-4096 one with
/// extensions has 2.5 KB) and small JSON commands.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// Time for a whole body to arrive: 64 KiB are a second on the slowest of lines, and who sends none
/// must not keep a connection.
pub const BODY_TIME: Duration = Duration::from_secs(30);

/// Networks for which the CA writes at once over HTTP. The CA's lock lets one writer through anyway; the
/// second checks a signature meanwhile. Anonymous requests cannot take all blocking threads.
pub const CA_WORK_AT_ONCE: usize = 2;

/// Networks for which the CA reads at once over HTTP, besides. A read is one small file and takes some
/// 50 µs, so one network reads 20,000 a second; what is written takes a hundred times as long.
pub const CA_READS_AT_ONCE: usize = 2;

/// Lines of networks at which those without a request are forgotten: a line takes some 100 bytes, and
/// there are never more with a request than connections.
pub const CA_LINES_SWEPT: usize = 1_024;

/// Longest wait for a turn at the CA, then 503. A turn is 5 to 20 ms (a signature and a few fsyncs),
/// so two at once are some 5,000 requests in this time: a thousand new nodes that ask together.
pub const CA_WAIT: Duration = Duration::from_secs(30);

/// Time after which a client that found the CA busy is told to try again: the work of others before it is done by
/// then.
pub const CA_BUSY_RETRY: Duration = Duration::from_secs(30);

/// Time after which a client whose request did not fit into the full list is told to try again: an
/// administrator has to sign or delete some first. It is Puppet's own pause between two polls.
pub const LIST_FULL_RETRY: Duration = Duration::from_secs(120);

/// Piece in which a file is read and sent. Two such pieces per download are in
/// memory at most.
pub const FILE_CHUNK_BYTES: usize = 64 * 1024;

/// Longest lifetime that `cert_ttl` may ask for: that of the CA itself.
pub const MAX_CERT_TTL_SECONDS: u64 = 15 * 365 * 24 * 3600;

/// Largest list of names to sign: 20,000 certnames of 50 bytes. It is read for each request.
pub const AUTOSIGN_LIST_BYTES: u64 = 1024 * 1024;

/// Networks for which a policy executable runs at once: programs take a processor each, and anyone may send
/// requests.
pub const AUTOSIGN_PROGRAMS_AT_ONCE: usize = 4;

/// Longest run of a policy executable: some ask a cloud's API. The node asks again by itself.
pub const AUTOSIGN_PROGRAM_TIME: Duration = Duration::from_secs(30);

/// Output of a policy executable that goes to the log.
pub const AUTOSIGN_OUTPUT_BYTES: u64 = 4 * 1024;
