//! All limits and defaults of the agent, with their reasons. Those of actions are in
//! [`actions::defaults`].

use std::time::Duration;

// --- connection ---

/// The port of a PCP broker.
pub const BROKER_PORT: u16 = 8142;

/// The port of a Puppet server, for certificates and files.
pub const PUPPET_PORT: u16 = 8140;

/// Client type in the agent's PCP URI.
pub const CLIENT_TYPE: &str = "agent";

/// Timeout of TCP connect, proxy, TLS and upgrade together (`connection-timeout`).
pub const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Time between two pings (`ping-interval`). Below the broker's idle timeout of 360 s even if two
/// pings are lost.
pub const PING_INTERVAL: Duration = Duration::from_secs(120);

/// Time limit of a pong; the same as pxp-agent's.
pub const PONG_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes that are still read after a sleep, in search of messages that count although they are late: twice Linux's largest
/// receive buffer of 6 MiB (`tcp_rmem`).
pub const ASLEEP_BYTES: usize = 12 * 1024 * 1024;

/// Number of unanswered pings that are allowed (`allowed-keepalive-timeouts`). With these three
/// values a dead broker is detected after at most 120 + 3 * 5 s.
pub const ALLOWED_KEEPALIVE_TIMEOUTS: u32 = 2;

/// Timeout of the answer to a v1 association (`association-timeout`).
pub const ASSOCIATION_TIMEOUT: Duration = Duration::from_secs(15);

/// Lifetime of a v1 message in its envelope (`pcp-message-ttl`).
pub const MESSAGE_TTL: Duration = Duration::from_secs(5);

/// Upper end of the first wait after a lost connection: 10,000 agents reconnect with at most 10,000
/// handshakes per second, which a broker admits through its own queue.
pub const RECONNECT_SPREAD: Duration = Duration::from_secs(1);

/// Lower end of the later waits.
pub const RECONNECT_FLOOR: Duration = Duration::from_secs(1);

/// Upper end of a wait after a lost connection (`reconnect-max-delay`).
pub const RECONNECT_CEILING: Duration = Duration::from_secs(60);

/// Upper end of the wait while the broker's port refuses connections: the broker is being started,
/// and has its agents back within this time and a handshake, 5 s in all. A refused connect costs a
/// broker's machine two packets: 5,000 agents, one in 3 s each, send it 1,700 per second, and
/// reconnect with 2,500 handshakes per second, half of what [`RECONNECT_SPREAD`] allows.
pub const PORT_CLOSED_CEILING: Duration = Duration::from_secs(4);

/// Number of times that a closing broker or a closed port resets the back-off before a connection
/// has settled again: restarts of a broker in quick succession. A broker that exceeds it is broken,
/// and the waits grow.
pub const QUICK_RESTARTS: u32 = 5;

/// Lower end of the wait after a refusal, which is a decision of an administrator: a retry within
/// half a minute cannot change it.
pub const DENIED_FLOOR: Duration = Duration::from_secs(30);

/// Lower end of the wait after a superseding: two agents with one certname displace each other at
/// most this often at first.
pub const SUPERSEDED_FLOOR: Duration = Duration::from_secs(5);

/// Upper end of the wait after a refusal or a superseding: the maximum time until a corrected
/// policy has its agents back.
pub const RECONNECT_LONG_CEILING: Duration = Duration::from_secs(300);

/// Duration after which a connection resets the back-off when it breaks.
pub const SETTLED_AFTER: Duration = Duration::from_secs(60);

/// Interval between two checks of a connection's announcement: the spool's id changes by a purge
/// once an hour at most. A check is one small read; a lasting connection is closed for a change at
/// most this often.
pub const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(3600);

/// Interval between two probes of the first broker by an agent that is on another one: a bare TCP
/// connect, jittered by half. 10,000 such agents cost that broker 33 connects per second.
pub const HOME_PROBE_INTERVAL: Duration = Duration::from_secs(300);

/// Number of probes in a row that must succeed before the agent returns to the first broker.
pub const HOME_PROBES_NEEDED: u32 = 2;

/// Largest message accepted from the broker (`max-incoming-message-size`): the broker's own limit,
/// so that no message it passes on ends the connection.
pub const MAX_INCOMING_BYTES: usize = 64 * 1024 * 1024;

/// Bytes read from the socket at a time; the only buffer of an idle connection.
pub const READ_CHUNK_BYTES: usize = 4 * 1024;

/// Bytes handed to TLS at a time, so that progress can be seen.
pub const WRITE_CHUNK_BYTES: usize = 16 * 1024;

/// Time without progress of a message after which the broker counts as gone.
pub const WRITE_STALL: Duration = Duration::from_secs(120);

/// Maximum number of messages waiting for the socket. Each is at most `max-message-size`, and a
/// full queue makes the modules wait, so this bounds memory, not progress.
pub const SEND_QUEUE: usize = 32;

/// Maximum number of waiting control frames: pongs, pings and the close frame overtake messages in
/// their own queue.
pub const CONTROL_QUEUE: usize = 8;

/// Time for the broker to answer a close frame.
pub const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// Largest answer of a proxy to `CONNECT`.
pub const MAX_PROXY_HEAD_BYTES: usize = 8 * 1024;

// --- options of the configuration file that concern actions ---

/// Default of `spool-dir-purge-ttl` and `task-cache-dir-purge-ttl`.
pub const PURGE_TTL_OPTION: &str = "14d";

/// Smallest value of `max-incoming-message-size`; a lower one would refuse ordinary requests.
pub const MIN_INCOMING_BYTES: usize = 64 * 1024;

// --- bootstrap ---

/// Longest pause between two checks for the signed certificate, as Puppet's `waitforcert`.
pub const WAIT_FOR_CERT: Duration = Duration::from_secs(120);

/// First pause; doubled up to the longest. With autosigning the certificate is available at the
/// first check.
pub const CERT_POLL_FIRST: Duration = Duration::from_secs(2);

/// Timeout of the TCP and TLS connection to the CA.
pub const CA_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of one request to the CA.
pub const CA_REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Largest answer of the CA: a revocation list of 100,000 entries is 5 MB in PEM.
pub const MAX_CA_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Interval between two requests for a newer revocation list, jittered by half: a revoked broker is
/// recognised within an hour and a half. 10,000 agents make 3 requests per second, most of them
/// answered with 304.
pub const CRL_INTERVAL: Duration = Duration::from_secs(3_600);

/// Time after the start within which the first request is sent: 10,000 agents that were switched on
/// at once make 170 requests per second.
pub const CRL_FIRST_WITHIN: Duration = Duration::from_secs(60);

/// Number of requests of which one is sent without `If-Modified-Since`: HTTP dates have whole
/// seconds, so a second change within one would never be seen.
pub const CRL_WHOLE_EVERY: u32 = 24;

// --- process ---

/// Maximum duration of the shutdown of broker connection and modules after SIGTERM: far below
/// systemd's 90 s.
pub const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(10);

/// Maximum number of threads for files, downloads and name resolution; they end after 5 idle
/// seconds.
pub const BLOCKING_THREADS: usize = 16;
