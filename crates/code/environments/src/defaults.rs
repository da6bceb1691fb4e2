//! Every bound on what is read of the code, with its arithmetic.

use std::time::Duration;

/// Largest `environment.conf`; real ones have some lines.
pub const ENVIRONMENT_CONF_BYTES: u64 = 64 << 10;

/// Largest metadata file of a task in bytes; the largest published ones have some 20,000.
pub const METADATA_BYTES: u64 = 1 << 20;

/// Longest text of a parameter's type in bytes; large `Struct` and `Enum` types have a few thousand.
pub const PARAMETER_TYPE_BYTES: usize = 16_384;

/// Deepest nesting of brackets in a parameter's type. Types of real tasks have 5.
pub const PARAMETER_TYPE_DEPTH: usize = 32;

/// Type aliases that lead to each other. Each may nest [`PARAMETER_TYPE_DEPTH`] types, so a check
/// goes 512 types deep at most, which needs some 100 KB of stack.
pub const TYPE_ALIAS_DEPTH: usize = 16;

/// Largest file that a task may ship; installers of hundreds of MB are seen, disks images are not
/// for tasks.
pub const FILE_BYTES: u64 = 1 << 30;

/// Files of one task, directories expanded. Each is some 300 bytes in the request to every node;
/// 2,000 make 600 KB of a message that may have 64 MB.
pub const TASK_FILES: usize = 2_000;

/// Directories below a module's `files/` and the like.
pub const DIRECTORY_DEPTH: usize = 32;

/// Hashes remembered: some 200 bytes each, so 6 MB at the most. Then all are forgotten.
pub const HASHES: usize = 32_768;

/// A file that changed less than this ago is hashed each time: a second change within the clock
/// tick of the first would not be seen in its times.
pub const HASH_SETTLED: Duration = Duration::from_secs(2);

/// How often a file that changes while it is read is read again.
pub const HASH_ATTEMPTS: usize = 3;

/// Bytes read at once while hashing and copying.
pub const COPY_BYTES: usize = 128 << 10;

/// Longest name of an environment.
pub const ENVIRONMENT_NAME_BYTES: usize = 255;

/// Longest name of a plan, as the API has it.
pub const PLAN_NAME_BYTES: usize = 256;

/// Largest file of a plan; the longest that are seen have some 30 KB.
pub const PLAN_BYTES: u64 = 1 << 20;

/// Largest file that is evaluated, and largest file of data that is looked up in; the largest manifest that
/// is seen has some 100 KB, generated data some MB.
pub const SOURCE_BYTES: u64 = 16 << 20;

/// Functions in Ruby that one note names; the others are counted.
pub const REPLACED_FUNCTIONS_SHOWN: usize = 20;

/// Directories of functions in Ruby inside each other; those of modules are two deep.
pub const RUBY_FUNCTION_DEPTH: usize = 8;

/// Functions in Ruby that are told of one environment; all that are built in are some 250, and several modules may
/// have one of the same name.
pub const RUBY_FUNCTIONS_MAX: usize = 1_000;

/// Plans of one module; the largest module that is seen has some 60.
pub const PLANS_PER_MODULE: usize = 2_000;
