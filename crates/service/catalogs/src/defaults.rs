//! Limits of the files of an environment on disk, and of requests to a puppetserver and PuppetDB.

use std::time::Duration;

/// Bytes of one file. Manifests and data in the field have at most 1 MB; a file is read as a whole.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// Files outside of a version whose states are compared, among them all of the shared modules. Each takes a
/// microsecond for each catalog; shared modules have some hundred files.
pub const OUTSIDE_FILES_MAX: usize = 20_000;

/// Age of a change from which on another one has another time. The clock of files goes in steps of up to 10
/// ms.
pub const OUTSIDE_FILE_SETTLED: Duration = Duration::from_millis(50);

/// Depth of directories below the manifest directory of an environment.
pub const MANIFEST_DEPTH_MAX: usize = 32;

/// Number of manifests in the manifest directory of an environment.
pub const MANIFESTS_MAX: usize = 10_000;

/// Bytes of a catalog that a puppetserver answers. The largest in the field have about 40 MB; each of
/// the parallel requests may hold one.
pub const CATALOG_BYTES_MAX: usize = 128 << 20;

/// Time to connect to a puppetserver, TLS included: five lost packets of a handshake.
pub const CATALOG_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time of one catalog on a puppetserver, with the time in its queue: twice its slowest compile in the
/// field, which takes about 2.5 minutes.
pub const CATALOG_TIMEOUT: Duration = Duration::from_secs(300);

/// Characters of an unexpected answer that a message shows: a line of text.
pub const ANSWER_EXCERPT: usize = 300;

/// Nodes without an answer after which no other node is requested: one may be an accident, three are
/// a server that is away or refuses.
pub const NO_ANSWERS_MAX: usize = 3;

/// Time in which a thread that compiles waits for an answer of PuppetDB or the database. The inventory
/// ends a query of PuppetDB after a minute; this is for one that does not run at all.
pub const ANSWER_WAIT_MAX: Duration = Duration::from_secs(90);

/// Number of resources that one collector takes from other nodes: four of each of
/// 25,000 nodes. Each takes about 1 kB in the catalog.
pub const EXPORTED_RESOURCES_MAX: usize = 100_000;

/// Time of one compilation on a server. The steps of a compilation take ten seconds at most, and one
/// call of Ruby code 30 s; a compilation that calls Ruby code again and again ends here.
pub const COMPILE_TIME_MAX: Duration = Duration::from_secs(120);

/// Time that a compilation waits for a slot: 400 catalogs of 100 ms have their turn within 20 s on two
/// cores, and within 60 s if they need Ruby.
pub const QUEUE_TIME_MAX: Duration = Duration::from_secs(60);

/// Compilations that wait for a slot. With facts of 20 to 100 kB each they are within
/// [`FACTS_WAITING_BYTES_MAX`].
pub const COMPILES_WAITING_MAX: usize = 400;

/// Bytes of the facts of nodes whose compilations wait, as JSON; as values they take five times as much, so
/// 320 MB. A fleet whose facts all have the largest size, 1 MiB, has 64 waiting compilations.
pub const FACTS_WAITING_BYTES_MAX: usize = 64 << 20;

/// Bytes of such facts of one user or program: a quarter.
pub const FACTS_WAITING_BYTES_OF_CALLER_MAX: usize = 16 << 20;

/// Compilations that wait for one environment: half of the queue, so that others have room.
pub const COMPILES_WAITING_EACH_MAX: usize = 200;

/// Compilations of one user or program that wait, or for the plans of one user: an eighth of the queue, and a
/// quarter of an environment's part. On two cores they have their turn within 3 s.
pub const COMPILES_WAITING_OF_CALLER_MAX: usize = 50;

/// Compilations for the plans of one user that are in the queue and in slots, for each slot: one runs, and
/// the next one waits, so that no slot is idle.
pub const PLAN_COMPILES_PER_SLOT: usize = 2;

/// Nodes whose groups are remembered: four times the largest fleet. Each takes some 300 bytes, so 60 MB.
pub const KNOWN_GROUPS_MAX: usize = 200_000;

/// Versions that are kept ready to compile. Each takes up to 60 MB for an environment of 100 modules:
/// 600 MB. Ruby workers keep as many versions.
pub const OPEN_VERSIONS_MAX: usize = 10;

/// Bytes of the stored resources that one collector takes: as much as an answer of PuppetDB may have.
pub const EXPORTED_BYTES_MAX: usize = 64 << 20;

/// Number of resources that one node exports. Nodes in the field export some ten.
pub const EXPORTS_OF_NODE_MAX: usize = 10_000;

/// Bytes of the resources that one node exports, as JSON: 400 for each of [`EXPORTS_OF_NODE_MAX`].
pub const EXPORTED_BYTES_OF_NODE_MAX: usize = 4 << 20;

/// Number of nodes whose resources of a type are read at once: some 1 kB each.
pub const EXPORTING_NODES_PAGE: u64 = 100;

/// Bytes of the resources that are read at once: those of two nodes of the largest size. As values they take
/// some five times as much.
pub const EXPORTED_PAGE_BYTES: u64 = 8 << 20;

/// Capabilities that one node produces. A component produces one or two, and a node of a large site has some
/// ten components.
pub const CAPABILITIES_OF_NODE_MAX: usize = 1_000;

/// Bytes of the capabilities that one node produces, as JSON: 1 kB for each of [`CAPABILITIES_OF_NODE_MAX`].
pub const CAPABILITY_BYTES_OF_NODE_MAX: usize = 1 << 20;

/// Producers of one capability that are read. One is right; the others are named in the error.
pub const CAPABILITY_PRODUCERS_MAX: u64 = 10;

/// Time for PuppetDB to have the catalog that another server compiled for a run: seconds, more when PuppetDB is behind.
/// Shorter than the 30 s in which the end of a run is known, so that the missing capability can be named.
pub const FOREIGN_CATALOG_WAIT: Duration = Duration::from_secs(20);

/// Pause between questions whether PuppetDB has that catalog: 20 small queries for each run at most.
pub const FOREIGN_CATALOG_POLL: Duration = Duration::from_secs(1);

/// Time of the program of `config_version`. It asks git for a commit, which takes some milliseconds; on a
/// slow network file system a second.
pub const CONFIG_VERSION_TIME_MAX: Duration = Duration::from_secs(10);

/// Bytes that the program of `config_version` may write: a version is a line.
pub const CONFIG_VERSION_BYTES_MAX: usize = 64 << 10;

/// Queries of one kept catalog that are run again at the same time. PuppetDB answers them on as many of its
/// connections.
pub const QUERIES_TOGETHER_MAX: usize = 4;

/// Kept catalogs whose queries are run again at the same time: 32 queries. PuppetDB has 50 connections to its
/// database by default, and its answers to collectors take some 10 ms, so 10,000 catalogs have their turn within
/// 15 s.
pub const QUERY_CHECKS_MAX: usize = 8;

/// Time in which the queries of a kept catalog must have their results; it is compiled after that.
pub const QUERY_CHECK_TIME_MAX: Duration = Duration::from_secs(10);

/// Time for the schemas of an environment's transports that are loaded in Ruby. One takes 50 ms with the process that is
/// forked for it, and the largest modules have ten; one that hangs ends after the 30 s of a call.
pub const SCHEMAS_TIME_MAX: Duration = Duration::from_secs(60);

/// Bytes of the classes, or of the transports, of one environment as JSON. 200 modules have some 2,000 classes,
/// which take 2 MB; they are kept for each of [`OPEN_VERSIONS_MAX`].
pub const LISTING_BYTES_MAX: usize = 32 << 20;

/// Longest type of a class's parameter that is written in Puppet's form, in bytes; large `Struct` and `Enum` types
/// have a few thousand.
pub const TYPE_TEXT_BYTES_MAX: usize = 16_384;

/// Deepest nesting of brackets in such a type. Types of modules have 6.
pub const TYPE_TEXT_DEPTH_MAX: usize = 32;

/// Deepest nesting of lists and hashes in a default value that is listed as a literal.
pub const LITERAL_DEPTH_MAX: usize = 64;
