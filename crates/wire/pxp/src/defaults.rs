//! Every bound of the PXP types, with its arithmetic.

/// Longest transaction id in bytes: a UUID has 36; it becomes a directory's name (limit 255).
pub const MAX_TRANSACTION_ID_BYTES: usize = 128;

/// Longest task name in bytes: two names that each become a component of a path (limit 255, less
/// an extension).
pub const MAX_TASK_NAME_BYTES: usize = 500;

/// Longest relative file name of a task in bytes, far below the 4,096 of a POSIX path, as it is
/// put below a directory of the agent's.
pub const MAX_FILE_PATH_BYTES: usize = 1_024;

/// Longest code id in bytes: Puppet Enterprise's has 62 and the environment's name, which is a directory's
/// (limit 255); other forms get some room.
pub const MAX_CODE_ID_BYTES: usize = 512;

/// Bytes of the files of a node that one download brings: 7.0 MB in Base64, of the 8 MiB of output that agents
/// put into a result.
pub const COLLECT_BYTES: u64 = 5 << 20;

/// Files and directories of one download: with 500 bytes each for names and the words around them, 0.5 MB.
pub const COLLECT_ITEMS: usize = 1_000;

/// Longest capabilities header in bytes; today's has some 110.
pub const MAX_CAPABILITIES_BYTES: usize = 1_024;

/// Longest parameter type in bytes; large `Struct` and `Enum` types have a few thousand.
pub const MAX_TYPE_BYTES: usize = 16_384;

/// Deepest nesting of a parameter type. Values are bounded by JSON's own limit.
pub const MAX_TYPE_DEPTH: usize = 32;

/// Memory of one compiled regular expression in bytes; the `regex` crate's default of 10 MB is
/// for programs that have one of them.
pub const MAX_REGEX_BYTES: usize = 1_048_576;

/// Largest task metadata file in bytes; the largest published ones have some 20,000.
pub const MAX_METADATA_BYTES: usize = 1_048_576;

/// Longest reason in an error about a peer's data, in characters: keys that the peer made up may
/// stand in it.
pub(crate) const MAX_REASON_CHARS: usize = 200;

/// Longest word of a type that an error repeats, in characters.
pub(crate) const MAX_QUOTED_CHARS: usize = 40;

/// Bytes that are read of a program to know its kind: the kernel takes no longer `#!` lines.
pub const PROGRAM_HEAD_BYTES: usize = 256;

/// Longest interpreter in an error, in characters; the kernel's limit for the whole line is 256 bytes.
pub(crate) const INTERPRETER_CHARS: usize = 128;
