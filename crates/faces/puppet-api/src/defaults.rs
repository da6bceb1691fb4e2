//! Limits of this crate, with their reasons.

use std::time::Duration;

/// Largest body in bytes of most routes. Certificate requests (an RSA-4096 one with extensions has 2.5
/// KB) and commands in JSON are small.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// Time for a whole body to arrive: 64 KiB take a second on the slowest connection, and a client
/// that sends none must not keep a connection.
pub const BODY_TIME: Duration = Duration::from_secs(30);

/// Number of networks for which the CA writes at once over HTTP. The CA's lock admits one writer
/// anyway; the second checks a signature meanwhile. Anonymous requests cannot take all blocking
/// threads.
pub const CA_WORK_AT_ONCE: usize = 2;

/// Number of networks for which the CA additionally reads at once over HTTP. A read is one small
/// file and takes some 50 µs, so one network reads 20,000 a second; a write takes a hundred times
/// as long.
pub const CA_READS_AT_ONCE: usize = 2;

/// Number of queues of networks at which those without a request are removed: a queue takes some
/// 100 bytes, and there are never more with a request than connections.
pub const CA_LINES_SWEPT: usize = 1_024;

/// Longest wait for a turn at the CA, then 503. A turn is 5 to 20 ms (a signature and a few
/// fsyncs), so two at once are some 5,000 requests in this time: a thousand new nodes that ask
/// together.
pub const CA_WAIT: Duration = Duration::from_secs(30);

/// Time after which a client that found the CA busy should retry: earlier work is done by then.
pub const CA_BUSY_RETRY: Duration = Duration::from_secs(30);

/// Time after which a client whose request did not fit into the full list should retry: an
/// administrator has to sign or delete some first. It is Puppet's own pause between two polls.
pub const LIST_FULL_RETRY: Duration = Duration::from_secs(120);

/// Size of the pieces in which a file is read and sent. At most two pieces per download are in
/// memory.
pub const FILE_CHUNK_BYTES: usize = 64 * 1024;

/// Longest lifetime that `cert_ttl` may request: that of the CA itself.
pub const MAX_CERT_TTL_SECONDS: u64 = 15 * 365 * 24 * 3600;

/// Largest list of names to sign: 20,000 certnames of 50 bytes. It is read for each request.
pub const AUTOSIGN_LIST_BYTES: u64 = 1024 * 1024;

/// Number of networks for which a policy executable runs at once: each program occupies a
/// processor, and any client may send requests.
pub const AUTOSIGN_PROGRAMS_AT_ONCE: usize = 4;

/// Longest run of a policy executable: some query a cloud's API. The node repeats its request by
/// itself.
pub const AUTOSIGN_PROGRAM_TIME: Duration = Duration::from_secs(30);

/// Maximum output of a policy executable that goes to the log, in bytes.
pub const AUTOSIGN_OUTPUT_BYTES: u64 = 4 * 1024;

/// Memory for the bodies of reports and facts at once, in KiB: 128 MiB, 200 reports of 600 KB. Their parsed
/// form takes two to three times as much.
pub const SUBMISSION_BODIES_KIB: u32 = 128 * 1024;

/// Bodies that one node sends at once: an agent sends one after the other, and a run that was started twice two.
/// With the largest ones a node takes a quarter of [`SUBMISSION_BODIES_KIB`].
pub const BODIES_OF_NODE_MAX: usize = 2;

/// Largest uncompressed body in bytes that is read without a change of threads. Reading the report of an unchanged run
/// takes 0.17 ms of the processor (`bench puppet-fleet`), so the largest one delays other requests by about a
/// millisecond. Reports of runs that changed nothing and that leave out unchanged resources have 3 to 8 KB.
pub const SMALL_BODY_BYTES: usize = 16 * 1024;

/// Time for which a body waits for memory. 200 reports are read in 5 seconds.
pub const SUBMISSION_WAIT: Duration = Duration::from_secs(20);

/// Time for the body of a report or of facts to arrive: 16 MiB take 40 seconds at 400 KB/s.
pub const SUBMISSION_TIME: Duration = Duration::from_secs(60);

/// Largest body in bytes of a request for a catalog. The facts of a node have 20 to 100 KB; escaped
/// twice, as agents send them, a quote takes five bytes and a letter beyond ASCII up to fifteen.
pub const CATALOG_BODY_BYTES: usize = 16 * 1024 * 1024;

/// Longest id of a run or a job in bytes: a UUID has 36, and the number of a job up to 20.
pub const ID_BYTES_MAX: usize = 128;

/// Least time after which an agent that found the server busy should retry: 100 of the waiting compilations are done
/// by then.
pub const BUSY_RETRY_MIN: Duration = Duration::from_secs(5);

/// Longest such time: all that waited are done by then. Each agent gets a random one, so that those that were
/// refused together do not come back together.
pub const BUSY_RETRY_MAX: Duration = Duration::from_secs(30);

/// Number of files in the metadata of one request. Plugins of 100 modules are 5,000 files; each takes some 300
/// bytes of the response.
pub const FILE_TREE_MAX: usize = 100_000;

/// Largest body of facts in bytes. The inventory keeps 1 MiB of a node; a larger document is refused with
/// a message that says so.
pub const FACTS_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Time to connect to the puppetserver behind this server: it is on the same machine or network.
pub const FRONT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time in which the puppetserver sends nothing, before its response or within it. Agents wait for 10 minutes
/// themselves (`http_read_timeout`), and a compilation may take some.
pub const FRONT_READ_TIMEOUT: Duration = Duration::from_secs(600);

/// Time after which an unused connection to the puppetserver is closed: before Jetty closes it, after 30
/// seconds, so that no request is sent into a closing one.
pub const FRONT_IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// Requests to the puppetserver at once. It has some 10 JRuby instances; the others wait there, as its agents'
/// requests do. Each takes two connections with buffers of some 100 KiB: 50 MiB in total.
pub const FRONT_REQUESTS: usize = 500;

/// Requests to the puppetserver at once of one client: an agent sends one after the other, and a run that was
/// started twice two.
pub const FRONT_REQUESTS_OF_NODE: usize = 4;

/// Time for which a request waits for its turn at the puppetserver: many compilations of 10 seconds.
pub const FRONT_WAIT: Duration = Duration::from_secs(60);

/// Time for which a puppetserver is believed to read the headers that name its clients: a changed `auth.conf`
/// needs a restart, which takes half a minute.
pub const FRONT_TRUST_TIME: Duration = Duration::from_secs(30);

/// Time in which a puppetserver must refuse a client without a certificate. It does so without JRuby, in
/// milliseconds, unless all of its threads are busy.
pub const FRONT_TRUST_WAIT: Duration = Duration::from_secs(60);

/// Largest body of a request that is passed to the puppetserver, in bytes: a file for the bucket. It is never in
/// memory as a whole.
pub const FRONT_BODY_BYTES: usize = 1024 * 1024 * 1024;

/// Files that are sent to or from the bucket at once: each takes a thread and a file that is written.
pub const BUCKET_FILES_AT_ONCE: usize = 16;

/// Files that one node sends to or from the bucket at once: an agent sends one after the other.
pub const BUCKET_FILES_OF_NODE: usize = 2;

/// Time for which a file waits for its turn at the bucket: 16 files of some MiB take a second.
pub const BUCKET_WAIT: Duration = Duration::from_secs(30);

/// Pieces of a file in memory that the bucket has not written yet.
pub const BUCKET_CHUNKS: usize = 2;

/// Lists of environments, tasks, classes and plans that are read at once: each takes a thread, and up to a second
/// for the classes of an environment without versions.
pub const LISTINGS_AT_ONCE: usize = 8;

/// Such lists that one client reads at once: a console asks for one after the other. The others have three quarters.
pub const LISTINGS_OF_NODE: usize = 2;

/// Time for which such a request waits for its turn: 240 lists of a second.
pub const LISTING_WAIT: Duration = Duration::from_secs(30);

/// Requests for files and their metadata that read the disk at once: each takes a thread, and the metadata of all
/// plugins of an environment some 2 MB.
pub const FILE_READS_AT_ONCE: usize = 32;

/// Such requests of one client at once, with answers that are still sent: an agent sends one after the other, and a
/// run that was started twice two.
pub const FILE_READS_OF_NODE: usize = 4;

/// Time for which such a request waits for its turn: the metadata of all plugins take some 50 ms from the cache, so
/// 1,000 agents have their turn within 2 s.
pub const FILE_READ_WAIT: Duration = Duration::from_secs(30);

/// Largest `fileserver.conf` in bytes: 500 mounts.
pub const FILESERVER_CONF_BYTES: u64 = 64 * 1024;

/// Components in a line of the log that are left for a later run; all are counted. References of 50 bytes are 1 KB.
pub const LEFT_OUT_NAMED: usize = 20;
