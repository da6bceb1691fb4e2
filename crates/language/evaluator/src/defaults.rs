//! Every limit of an evaluation, with its arithmetic.

/// Maximum number of evaluated expressions. One costs 20 to 100 ns, so a program that loops for
/// ever ends after at most two minutes of computing.
pub const STEPS_MAX: u64 = 1_000_000_000;

/// Number of expressions after which the host may let other evaluations run: some milliseconds.
pub const STEPS_A_TURN: u64 = 1 << 16;

/// Maximum number of bytes of all strings, lists and hashes that a program holds at a time. A
/// server with a thousand plans cannot give more to one of them.
pub const BYTES_MAX: u64 = 1 << 30;

/// Bytes that each evaluation may hold regardless of the others: 512 MiB for the thousand plans
/// that a server has in memory.
pub const OWN_BYTES: u64 = 512 << 10;

/// Number of bytes that an evaluation takes at a time from the memory of all evaluations.
pub const SHARED_CHUNK_BYTES: u64 = 256 << 10;

/// Maximum number of bytes that all plans of a server may hold above [`OWN_BYTES`] each: 2 GiB. A
/// single one gets half of it, which is [`BYTES_MAX`].
pub const SHARED_BYTES_MAX: u64 = 2 << 30;

/// Bytes charged for an element of a list: the value and its part of the container.
pub const ELEMENT_BYTES: u64 = 24;

/// Number of bytes that a loop or the statements of a body may create before the held values are
/// inspected. An inspection takes microseconds, and most loops never reach it.
pub const UNSWEPT_BYTES_MAX: u64 = 64 << 10;

/// Number of values whose inspection counts as one step: one takes some ns, a step 20 to 100.
pub const VISITS_A_STEP: usize = 16;

/// Maximum number of bytes of one string, or of the elements of one list at [`ELEMENT_BYTES`] each.
pub const VALUE_BYTES_MAX: u64 = 64 << 20;

/// Maximum depth of nested calls of functions and blocks. Ruby's stack ends Puppet at about 1,000.
pub const CALLS_MAX: u32 = 500;

/// Stack in bytes that an evaluation may use below its entry point. A coroutine of a plan has 1
/// MiB; the rest is for the host's own functions and for comparing, printing and dropping values.
///
/// Measured on a function that calls itself inside an `if` and a `+`: 4 kB a call without
/// optimisation, 2.5 kB with it; inside a block as well, 6 and 4. So 1 MiB ends such programs at
/// 150 to 250 calls, before [`CALLS_MAX`] does. A host that needs the same result in every build
/// uses a stack of 4 MiB, or fewer calls.
pub const STACK_BYTES: usize = 640 << 10;

/// Maximum nesting of lists, hashes and types: comparing, printing and dropping one takes stack for each
/// level.
pub const NESTING_MAX: u32 = 512;

/// Parts from which on the depth of a value is remembered. Looking at fewer takes less time than finding it
/// again.
pub(crate) const REMEMBERED_PARTS_MIN: usize = 32;

/// Parts of a value after which those that were looked at are noted, in case a value shares them.
pub(crate) const SEEN_PARTS_MIN: usize = 64;

/// Values whose depth is remembered, about 100 bytes each.
pub(crate) const MEASURED_VALUES_MAX: usize = 4_096;

/// Maximum number of names that are compared for "did you mean".
pub const SUGGESTION_CANDIDATES_MAX: usize = 10_000;

/// Number of parsed functions and templates in the cache. A file is some KiB, so some MiB in all.
pub const PARSED_FILES_MAX: usize = 4_096;

/// Number of compiled patterns in the cache. One is some KiB.
pub const PATTERNS_MAX: usize = 1_024;

/// Number of keys for warnings that are logged once; as in Puppet, further ones are not logged at
/// all.
pub const WARNED_ONCE_MAX: usize = 100;

/// Number of variables of one body up to which their list is searched for a name. Comparing twelve
/// short names takes as long as one look-up in a hash table.
pub const SEARCHED_VARIABLES_MAX: usize = 12;

/// Maximum length of an absolute path: Linux opens none that is longer.
pub const PATH_BYTES_MAX: usize = 4096;

/// Number of titles of a resource expression up to which they are compared with each other; of more,
/// the catalog finds the duplicate.
pub const SEARCHED_TITLES_MAX: usize = 64;

/// Number of attributes of a resource up to which they are compared with each other. Most resources
/// have fewer.
pub const SEARCHED_ATTRIBUTES_MAX: usize = 32;
