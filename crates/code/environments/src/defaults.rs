//! The limits on reading code, each with its derivation.

use std::time::Duration;

/// Largest `environment.conf`; real ones have some lines.
pub const ENVIRONMENT_CONF_BYTES: u64 = 64 << 10;

/// Largest metadata file of a task in bytes; the largest published ones have some 20,000.
pub const METADATA_BYTES: u64 = 1 << 20;

/// Longest text of a parameter's type in bytes; large `Struct` and `Enum` types have a few
/// thousand.
pub const PARAMETER_TYPE_BYTES: usize = 16_384;

/// Deepest nesting of brackets in a parameter's type. Types of real tasks have 5.
pub const PARAMETER_TYPE_DEPTH: usize = 32;

/// Longest chain of type aliases that refer to each other. Each may nest [`PARAMETER_TYPE_DEPTH`]
/// types, so a check goes 512 types deep at most, which needs some 100 KB of stack.
pub const TYPE_ALIAS_DEPTH: usize = 16;

/// Largest file of a task; installers of hundreds of MB have been seen, disk images do not belong
/// into tasks.
pub const FILE_BYTES: u64 = 1 << 30;

/// Most files of one task, directories expanded. Each takes some 300 bytes in the request to every
/// node; 2,000 make 600 KB of a message that may have 64 MB.
pub const TASK_FILES: usize = 2_000;

/// Deepest nesting of directories below a module's `files/` and similar directories.
pub const DIRECTORY_DEPTH: usize = 32;

/// Hashes in the cache: some 200 bytes each, so 6 MB at most. A full cache is emptied.
pub const HASHES: usize = 32_768;

/// A file that changed more recently than this is hashed each time: a second change within the
/// clock tick of the first would not be visible in its timestamps.
pub const HASH_SETTLED: Duration = Duration::from_secs(2);

/// Number of attempts to read a file that changes while it is read.
pub const HASH_ATTEMPTS: usize = 3;

/// Bytes per read while hashing and copying.
pub const COPY_BYTES: usize = 128 << 10;

/// Longest name of an environment in bytes.
pub const ENVIRONMENT_NAME_BYTES: usize = 255;

/// Longest name of a plan in bytes, as in the API.
pub const PLAN_NAME_BYTES: usize = 256;

/// Largest file of a plan in bytes; the longest seen have some 30 KB.
pub const PLAN_BYTES: u64 = 1 << 20;

/// Largest file that is evaluated, and largest data file for lookups, in bytes; the largest
/// manifest seen has some 100 KB, generated data some MB.
pub const SOURCE_BYTES: u64 = 16 << 20;

/// Number of functions in Ruby that one note names; the others are counted.
pub const REPLACED_FUNCTIONS_SHOWN: usize = 20;

/// Deepest nesting of directories of functions in Ruby; those of modules are two deep.
pub const RUBY_FUNCTION_DEPTH: usize = 8;

/// Most functions in Ruby that are reported for one environment; there are some 250 built-in ones,
/// and several modules may have one of the same name.
pub const RUBY_FUNCTIONS_MAX: usize = 1_000;

/// Most plans of one module; the largest module seen has some 60.
pub const PLANS_PER_MODULE: usize = 2_000;
