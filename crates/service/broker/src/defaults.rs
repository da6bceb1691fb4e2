//! Limits and defaults of the broker, each with its arithmetic.
//!
//! Sized for 20,000 agents on two cores and 1 GB; those that depend on the machine can be set in
//! [`crate::BrokerConfig`].

use std::time::Duration;

/// Connections that are not associated yet. One costs 9 KB, and the part of its handshake that has
/// arrived, which [`HANDSHAKE_BYTES`] bounds: 8,192 × 25 KB = 200 MB at the very worst.
pub const HALF_OPEN: usize = 8_192;

/// Half-open connections from one network at once: three quarters of [`HALF_OPEN`], so that a site
/// with 5,000 agents behind one address reconnects at once and other networks can still connect.
pub const HALF_OPEN_PER_NETWORK: usize = HALF_OPEN / 4 * 3;

/// Time from accept to association. A handshake takes milliseconds; 10 s covers a lost packet or
/// two on a slow link.
pub const OPENING_TIMEOUT: Duration = Duration::from_secs(10);

/// Sessions of one certname, each with its own client type. A node has one (`agent`), with a
/// controller or a tool beside it two or three; without a limit one stolen certificate could use up
/// all memory and descriptors.
pub const SESSIONS_PER_CERTNAME: usize = 8;

/// Refusals of one session that the access log has within [`REFUSALS_WINDOW`], each about 300
/// bytes; after them one line says that more are left out, and later a line has their number. Ten
/// are enough to notice a misconfigured client; a hostile one could otherwise write thousands a
/// second.
pub const REFUSALS_LOGGED: u64 = 10;

/// Period over which [`REFUSALS_LOGGED`] counts.
pub const REFUSALS_WINDOW: Duration = Duration::from_secs(60);

/// Ciphertext that a client may send before its handshake is complete. A chain of four RSA-4096
/// certificates is 7 KB.
pub const HANDSHAKE_BYTES: usize = 16 * 1024;

/// Plaintext that a client may send before its upgrade is answered: the HTTP head (at most 16 KB)
/// and pipelined data.
pub const UPGRADE_BYTES: usize = 32 * 1024;

/// Length of a request path. A client type is one word, usually `agent`.
pub const PATH_BYTES: usize = 1_024;

/// Size of one message in either direction, the same as in other PCP brokers and agents (64 MiB).
pub const MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// Large messages being received, over all sessions: the bytes that have arrived, as much as eight
/// of the largest (8 × 64 MiB), and one message more that always completes. With the growth of a
/// buffer (twice its content at worst) that is 1.2 GiB; the other sessions are not read from
/// meanwhile.
pub const ASSEMBLY_BYTES: usize = 512 * 1024 * 1024;

/// Bytes by which the memory of a large message is ahead of the bytes that have arrived: more than
/// two reads, and 256 steps for the largest message.
pub const ASSEMBLY_STEP_BYTES: usize = 256 * 1024;

/// Bytes by which a large message has to grow within each [`ASSEMBLY_PROGRESS_WINDOW`], or its
/// session is closed: 13 KB/s, which a bad mobile connection has.
pub const ASSEMBLY_PROGRESS_BYTES: usize = 128 * 1024;

/// Time in which [`ASSEMBLY_PROGRESS_BYTES`] of a large message must arrive.
pub const ASSEMBLY_PROGRESS_WINDOW: Duration = Duration::from_secs(10);

/// Size up to which a message needs no lease: nearly every message is smaller, and one for each of
/// 20,000 clients at once (never seen) is 1.3 GB at the very worst.
pub const FREE_MESSAGE_BYTES: usize = 64 * 1024;

/// Average rate at which a large message has to arrive after [`ASSEMBLY_GRACE`]: 64 MiB in 9
/// minutes, a line of 1 Mbit/s.
pub const ASSEMBLY_BYTES_PER_SECOND: usize = 128 * 1024;

/// Time for a large message to arrive, in addition to that of [`ASSEMBLY_BYTES_PER_SECOND`].
pub const ASSEMBLY_GRACE: Duration = Duration::from_secs(30);

/// Size of messages of the broker's own protocol: a query of 10,000 names is 500 KB.
pub const CONTROL_MESSAGE_BYTES: usize = 1024 * 1024;

/// Maximum bytes queued for one client; a message counts [`OUTBOX_MESSAGE_COST`] more than its
/// length, so this bounds the number as well: 1 MiB / 1 KiB = 1,024 messages.
pub const OUTBOX_BYTES: usize = 1024 * 1024;

/// Bytes counted for a queued message in addition to its text, rounded up generously.
pub const OUTBOX_MESSAGE_COST: usize = 1024;

/// Time that a sender waits for space in its target's queue before it gets an error.
pub const DELIVERY_PATIENCE: Duration = Duration::from_secs(5);

/// Time without a frame from a client after which its connection counts as dead (close 1001).
/// Agents ping every 2 minutes, so three pings are missed.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(360);

/// Received part of a large message that counts as a sign of life.
pub const IDLE_PROGRESS_BYTES: usize = 64 * 1024;

/// Time from the close frame to the end of the connection: one slow round trip.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Interval of inventory updates, which are sent in batches.
pub const INVENTORY_INTERVAL: Duration = Duration::from_secs(1);

/// Changes in one `inventory_update`: 1,000 × 100 bytes = 100 KB, a tenth of a queue.
pub const INVENTORY_BATCH: usize = 1_000;

/// Changes kept for slow subscribers: two for each of 50,000 agents in a reconnect storm (10 MB). A
/// subscriber that falls behind further is closed and has to query again.
pub const INVENTORY_LOG: usize = 100_000;

/// Supersedings of a certname by itself within [`DUPLICATE_WINDOW`] that are normal for an agent
/// that lost its network. More mean two agents with one certificate.
pub const DUPLICATE_TOLERANCE: u32 = 3;

/// Period over which [`DUPLICATE_TOLERANCE`] counts.
pub const DUPLICATE_WINDOW: Duration = Duration::from_secs(60);

/// First delay of a duplicate; it doubles with each further one.
pub const DUPLICATE_DELAY: Duration = Duration::from_secs(1);

/// Longest delay of a duplicate. A stock pxp-agent gives up an attempt after 5 s and then backs off
/// by itself, so the first holder of the certname keeps its connection meanwhile.
pub const DUPLICATE_DELAY_MAX: Duration = Duration::from_secs(30);

/// Interval of pings to a controller.
pub const CONTROLLER_PING: Duration = Duration::from_secs(15);

/// Silence after which a controller connection counts as dead: three pings unanswered.
pub const CONTROLLER_SILENCE: Duration = Duration::from_secs(45);

/// Time for TCP, TLS and upgrade when connecting to a controller.
pub const CONTROLLER_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// First pause before reconnecting to a controller; it doubles up to the maximum, each with jitter
/// of ±50 %, without end.
pub const CONTROLLER_BACKOFF: Duration = Duration::from_millis(200);

/// Longest pause before reconnecting to a controller; see [`CONTROLLER_BACKOFF`].
pub const CONTROLLER_BACKOFF_MAX: Duration = Duration::from_secs(15);

/// Maximum bytes queued for one controller, which receives the results of a whole fleet (64 MiB +
/// the largest message).
pub const CONTROLLER_OUTBOX_BYTES: usize = 64 * 1024 * 1024;

/// Messages of one controller that are delivered at the same time. One slow agent must not delay
/// the others for [`DELIVERY_PATIENCE`].
pub const CONTROLLER_DELIVERIES: usize = 256;

/// Agents in one presence message: 500 × 300 bytes = 150 KB.
pub const PRESENCE_BATCH: usize = 500;

/// Time for sessions to close when the broker stops.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
