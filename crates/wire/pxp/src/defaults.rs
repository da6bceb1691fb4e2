//! The limits of the PXP types, each with its derivation.

/// Longest transaction id in bytes: a UUID has 36; it becomes a directory's name (limit 255).
pub const MAX_TRANSACTION_ID_BYTES: usize = 128;

/// Longest task name in bytes: two names that each become a component of a path (limit 255, less
/// an extension).
pub const MAX_TASK_NAME_BYTES: usize = 500;

/// Longest relative file name of a task in bytes, far below the 4,096 of a POSIX path, because it
/// is joined to a directory of the agent.
pub const MAX_FILE_PATH_BYTES: usize = 1_024;

/// Longest code id in bytes: Puppet Enterprise's has 62 and the environment's name, which is the
/// name of a directory (limit 255); the rest is a margin for other forms.
pub const MAX_CODE_ID_BYTES: usize = 512;

/// Bytes of a node's files in one download: 7.0 MB in Base64, of the 8 MiB of output that agents
/// put into a result.
pub const COLLECT_BYTES: u64 = 5 << 20;

/// Files and directories of one download: with 500 bytes each for names and the JSON around them,
/// 0.5 MB.
pub const COLLECT_ITEMS: usize = 1_000;

/// Longest capabilities header in bytes; today's has some 110.
pub const MAX_CAPABILITIES_BYTES: usize = 1_024;

/// Longest reason in an error about a peer's data, in characters: it may contain keys that the peer
/// invented.
pub(crate) const MAX_REASON_CHARS: usize = 200;

/// Bytes of a program that are read to determine its kind: the kernel accepts no longer `#!` lines.
pub const PROGRAM_HEAD_BYTES: usize = 256;

/// Longest interpreter in an error, in characters; the kernel's limit for the whole line is 256
/// bytes.
pub(crate) const INTERPRETER_CHARS: usize = 128;
