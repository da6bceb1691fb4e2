//! Limits of a compilation.
//!
//! Invariant: everything that a manifest can repeat or grow ends at one of these limits, or at a
//! limit of the evaluator.

/// Rounds of collectors and defined types after which a compilation ends, as in Puppet.
pub const GENERATOR_ROUNDS_MAX: u32 = 1_000;

/// Number of resources in a catalog. A resource takes about 1 kB, so this is some 500 MB; the largest
/// catalogs in the field have some 20,000.
pub const RESOURCES_MAX: usize = 500_000;

/// Number of containment edges. Classes add few besides one for each resource.
pub const EDGES_MAX: usize = 2 * RESOURCES_MAX;

/// Depth of classes that declare each other and of resources within resources. Each level takes
/// about 10 kB of stack.
pub const CONTAINMENT_DEPTH_MAX: u32 = 400;

/// Stack in bytes of the thread that compiles. Only the pages that are used take memory.
pub const STACK_BYTES: usize = 64 << 20;

/// Evaluation steps of a compilation: about ten seconds.
pub const STEPS_MAX: u64 = 200_000_000;

/// Bytes of values that a compilation may hold.
pub const VALUE_BYTES_TOTAL_MAX: u64 = 1 << 30;

/// Depth of nested calls; classes that declare classes are calls of `include`.
pub const CALLS_MAX: u32 = 2_000;

/// Errors that are reported together where a compilation finds several.
pub const ERRORS_MAX: usize = 20;

/// Bytes of the message of an error. Puppet's longest have some 2 kB, but a manifest may fail with a text of
/// any length, and a job keeps one for each of thousands of nodes: 16 MB for 1,000.
pub const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// Log messages that a compilation keeps.
pub const LOGS_MAX: usize = 1_000;

/// Size of one unit of a catalog: an element of a list, a tag, or this many bytes of a text.
pub const UNIT_BYTES: u64 = 16;

/// Units of all attributes, references and tags of a catalog: 256 MiB of text. A catalog with 20,000
/// resources of ten attributes has about one million.
pub const CATALOG_UNITS_MAX: u64 = 16 << 20;

/// Bytes that are reserved for each resource of a document, with its edge. A small resource takes some 350
/// bytes, one of a role with virtual hosts 650; what is reserved and not written takes no memory.
pub const RESOURCE_DOCUMENT_BYTES: usize = 512;

/// Number of tags up to which a set of tags is searched one by one.
pub const SEARCHED_TAGS_MAX: usize = 32;

/// Memory of one name under which an environment has nothing, besides its text: the entry of a hash
/// table and the allocation.
pub const MISSING_NAME_BYTES: usize = 100;

/// Memory for such names, of each kind. An environment of 1,000 modules needs some 100,000 of the
/// kind of files, which are about 15 MB.
pub const MISSING_NAMES_BYTES_MAX: usize = 16 << 20;

/// Functions in Ruby that call each other natively: each takes up to 1 MB of the stack of 64 MB in unoptimised
/// builds.
pub(crate) const NATIVE_CALLS_MAX: usize = 4;

/// Bytes of the path of a value in a message about it: hundreds of levels with short keys.
pub const PATH_BYTES_MAX: usize = 4 << 10;

/// Queries of other nodes' data that one catalog may have and be used again: each is run again for each request
/// then. Roles in the field have up to ten.
pub const DATA_QUERIES_MAX: usize = 32;

/// Bytes of such a query. A query of a screen has 2 kB.
pub const DATA_QUERY_BYTES_MAX: usize = 16 << 10;

/// Capabilities of other nodes in one catalog whose values are compared at the end of a wave. A load balancer consumes
/// those of some hundred web servers. Each takes 200 bytes in memory, and a comparison one statement of the database.
pub const CAPABILITY_QUERIES_MAX: usize = 1_000;
