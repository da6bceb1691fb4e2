//! Every limit of an evaluation, with its arithmetic.

/// Expressions evaluated. One costs 20 to 100 ns, so a program that loops for ever ends after a minute
/// or less of computing.
pub const STEPS_MAX: u64 = 1_000_000_000;

/// Expressions after which the host may let other evaluations run: some milliseconds.
pub const STEPS_A_TURN: u64 = 1 << 16;

/// Bytes of all strings, lists and hashes that a program holds at a time: a server with a thousand plans cannot give
/// more to one.
pub const BYTES_MAX: u64 = 1 << 30;

/// Bytes that each evaluation may hold without asking what others leave: of the thousand plans that a
/// server has in memory, 512 MiB.
pub const OWN_BYTES: u64 = 512 << 10;

/// Bytes that an evaluation takes at a time of the memory of all evaluations.
pub const SHARED_CHUNK_BYTES: u64 = 256 << 10;

/// Bytes that all plans of a server may hold above that: 2 GiB. One alone
/// gets half of it, which is [`BYTES_MAX`].
pub const SHARED_BYTES_MAX: u64 = 2 << 30;

/// Bytes charged for an element of a list: the value and its part of the container.
pub const ELEMENT_BYTES: u64 = 24;

/// Bytes that a loop or the statements of a body may make before what they hold is looked at: to look takes
/// microseconds, and most loops never come to it.
pub const UNSWEPT_BYTES_MAX: u64 = 64 << 10;

/// Values that are looked at for one step: looking takes some ns, a step 20 to 100.
pub const VISITS_A_STEP: usize = 16;

/// Bytes of one string, or [`ELEMENT_BYTES`] times the elements of one list.
pub const VALUE_BYTES_MAX: u64 = 64 << 20;

/// Calls of functions and blocks inside each other. Ruby's stack ends Puppet at about 1,000.
pub const CALLS_MAX: u32 = 500;

/// Stack that an evaluation may use, from where it was entered. A coroutine of a plan has 1 MiB: what
/// is left below is for the host's own functions and for comparing, printing and dropping values.
///
/// Measured on a function that calls itself inside an `if` and a `+`: 4 kB a call without optimisation,
/// 2.5 kB with it; inside a block as well, 6 and 4. So 1 MiB ends such programs at 150 to 250 calls, before
/// [`CALLS_MAX`] does; who wants the same end in every build takes a stack of 4 MiB, or fewer calls.
pub const STACK_BYTES: usize = 640 << 10;

/// Lists and hashes inside each other: comparing, printing and dropping one takes stack for each level.
pub const NESTING_MAX: u32 = 512;

/// Names that are compared for "did you mean": more are not looked at.
pub const SUGGESTION_CANDIDATES_MAX: usize = 10_000;

/// Texts of functions and templates that are kept parsed. A file is some KiB, so some MiB in all.
pub const PARSED_FILES_MAX: usize = 4_096;

/// Patterns that are kept compiled. One is some KiB.
pub const PATTERNS_MAX: usize = 1_024;

/// Keys of warnings that are given once: as Puppet, where more of them are not given at all.
pub const WARNED_ONCE_MAX: usize = 100;
