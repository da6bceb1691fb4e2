//! Every number of the agent in one place, with its reason. Those of the
//! actions it carries out are in [`actions::defaults`].

use std::time::Duration;

// --- connection ---

/// The port of a PCP broker.
pub const BROKER_PORT: u16 = 8142;

/// The port of a Puppet server, for certificates and files.
pub const PUPPET_PORT: u16 = 8140;

/// What the agent calls itself in its PCP URI.
pub const CLIENT_TYPE: &str = "agent";

/// TCP connect, proxy, TLS and upgrade together (`connection-timeout`).
pub const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// From ping to ping (`ping-interval`). Below the broker's idle timeout of
/// 360 s even when two pings are lost.
pub const PING_INTERVAL: Duration = Duration::from_secs(120);

/// How long a pong may take; pxp-agent uses the same.
pub const PONG_TIMEOUT: Duration = Duration::from_secs(5);

/// Unanswered pings that are forgiven (`allowed-keepalive-timeouts`). With
/// these three a dead broker is noticed after at most 120 + 3 * 5 s.
pub const ALLOWED_KEEPALIVE_TIMEOUTS: u32 = 2;

/// How long the answer to a v1 association may take (`association-timeout`).
pub const ASSOCIATION_TIMEOUT: Duration = Duration::from_secs(15);

/// Life of a v1 message as its envelope says (`pcp-message-ttl`).
pub const MESSAGE_TTL: Duration = Duration::from_secs(5);

/// Upper end of the first wait after a lost connection: 10,000 agents come
/// back at 10,000 handshakes per second at most, which a broker admits through
/// its own queue.
pub const RECONNECT_SPREAD: Duration = Duration::from_secs(1);

/// Lower end of the later waits.
pub const RECONNECT_FLOOR: Duration = Duration::from_secs(1);

/// Upper end of a wait after a lost connection (`reconnect-max-delay`).
pub const RECONNECT_CEILING: Duration = Duration::from_secs(60);

/// Upper end of the wait while the broker's port refuses connections: the broker is being started,
/// and one that comes back has its agents within this time and a handshake, 5 s in all. A refused
/// connect costs a broker's machine two packets: 5,000 agents, one in 3 s each, send it 1,700 per
/// second, and come back at 2,500 handshakes per second, half of what [`RECONNECT_SPREAD`] allows.
pub const PORT_CLOSED_CEILING: Duration = Duration::from_secs(4);

/// Number of times that a good-bye or a closed port starts the back-off anew before a connection
/// has settled again: restarts of a broker in quick succession. A broker that goes on so is broken,
/// and the waits grow.
pub const QUICK_RESTARTS: u32 = 5;

/// A refusal is a decision of a person: asking again within half a minute
/// cannot change it.
pub const DENIED_FLOOR: Duration = Duration::from_secs(30);

/// Two agents with one certname take turns at most this often at first.
pub const SUPERSEDED_FLOOR: Duration = Duration::from_secs(5);

/// Upper end of the wait after a refusal or a superseding: how long a repaired
/// policy may take to have its agents back.
pub const RECONNECT_LONG_CEILING: Duration = Duration::from_secs(300);

/// A connection that held this long starts the back-off anew when it breaks.
pub const SETTLED_AFTER: Duration = Duration::from_secs(60);

/// How often a connection's announcement is compared with what is true: the
/// spool gives up its identity in a purge, once an hour at most. A look is one
/// small read; a lasting connection is given up for news at most this often.
pub const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(3600);

/// How often an agent that is not on its first broker looks whether it is
/// back: a bare TCP connect, jittered by half. 10,000 agents away from home
/// cost that broker 33 connects per second.
pub const HOME_PROBE_INTERVAL: Duration = Duration::from_secs(300);

/// Probes in a row that must succeed before the agent goes home.
pub const HOME_PROBES_NEEDED: u32 = 2;

/// Largest message taken from the broker (`max-incoming-message-size`): the
/// broker's own limit, so that nothing it passes on ends the connection.
pub const MAX_INCOMING_BYTES: usize = 64 * 1024 * 1024;

/// Bytes read from the socket at a time; the only buffer of an idle connection.
pub const READ_CHUNK_BYTES: usize = 4 * 1024;

/// Bytes handed to TLS at a time, so that progress can be seen.
pub const WRITE_CHUNK_BYTES: usize = 16 * 1024;

/// A broker that takes no byte of a message for this long is gone.
pub const WRITE_STALL: Duration = Duration::from_secs(120);

/// Messages waiting for the socket. Each is at most `max-message-size`, and
/// a full queue makes the modules wait, so this bounds memory, not progress.
pub const SEND_QUEUE: usize = 32;

/// Pongs, pings and the close frame overtake messages in a queue of their own.
pub const CONTROL_QUEUE: usize = 8;

/// How long the broker may take to answer our close frame.
pub const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// Largest answer of a proxy to `CONNECT`.
pub const MAX_PROXY_HEAD_BYTES: usize = 8 * 1024;

// --- options of the configuration file that concern actions ---

/// `spool-dir-purge-ttl` and `task-cache-dir-purge-ttl`.
pub const PURGE_TTL_OPTION: &str = "14d";

/// `max-incoming-message-size` below this would refuse ordinary requests.
pub const MIN_INCOMING_BYTES: usize = 64 * 1024;

// --- bootstrap ---

/// Longest pause between two looks for our certificate, as Puppet's
/// `waitforcert`.
pub const WAIT_FOR_CERT: Duration = Duration::from_secs(120);

/// First pause; doubled up to the longest. With autosigning the certificate is
/// there at the first look.
pub const CERT_POLL_FIRST: Duration = Duration::from_secs(2);

/// TCP and TLS with the CA.
pub const CA_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// One request to the CA.
pub const CA_REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A revocation list of 100,000 entries is 5 MB in PEM.
pub const MAX_CA_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// How often the CA is asked for a newer revocation list, jittered by half: a
/// revoked broker is recognised within an hour and a half. 10,000 agents make
/// 3 requests per second, most of them answered with 304.
pub const CRL_INTERVAL: Duration = Duration::from_secs(3_600);

/// The first question comes within this time after the start: 10,000 agents
/// that were switched on at once make 170 requests per second.
pub const CRL_FIRST_WITHIN: Duration = Duration::from_secs(60);

/// Every so many questions are without `If-Modified-Since`: HTTP dates have
/// whole seconds, so a second change within one would never be seen.
pub const CRL_WHOLE_EVERY: u32 = 24;

// --- process ---

/// How long good-bye to the broker and the modules may take after SIGTERM:
/// far below systemd's 90 s.
pub const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(10);

/// Threads for files, downloads and names; they go after 5 idle seconds.
pub const BLOCKING_THREADS: usize = 16;
