//! The bounds of rules and groups, with their arithmetic.

use std::time::Duration;

/// How deep conditions may be nested in a rule. People write three levels, generators ten; the
/// functions that walk a rule call themselves once for each, some 200 bytes of stack.
pub const RULE_DEPTH: usize = 64;

/// How many conditions one rule may have. Each pinned node is one: 50,000 nodes pinned to one
/// group, and as many again.
pub const RULE_CONDITIONS: usize = 100_000;

/// How many steps a path into a fact may have.
pub const PATH_STEPS: usize = 32;

/// The longest text in a rule, in bytes: a value or a step of a path.
pub const RULE_TEXT_BYTES: usize = 8 * 1_024;

/// How many patterns one rule may have. With [`PATTERN_BYTES`] a hostile rule takes 128 MiB, and
/// only who may edit rules can write one.
pub const RULE_PATTERNS: usize = 512;

/// How much memory one compiled pattern may take: some hundred times what a certname needs.
pub const PATTERN_BYTES: usize = 256 * 1_024;

/// How deep a pattern's groups may be nested.
pub const PATTERN_DEPTH: u32 = 64;

/// How many groups there may be. Large sites have some hundred.
pub const GROUPS: usize = 10_000;

/// How deep groups may be nested below the root. What a group inherits is worked out when groups
/// change, for each of its ancestors.
pub const GROUP_DEPTH: usize = 64;

/// The longest name of a group, an environment, a class, a parameter or a variable, in bytes.
pub const NAME_BYTES: usize = 1_024;

/// The longest description of a group, in bytes.
pub const DESCRIPTION_BYTES: usize = 16 * 1_024;

/// The most that one group's classes, configuration data and variables may have together, as JSON:
/// a page of parameters is 4 KiB.
pub const GROUP_DATA_BYTES: usize = 4 * 1_024 * 1_024;

/// How many check-ins of one node are kept: what was, what is, and a little before.
pub const CHECK_INS_PER_NODE: u32 = 5;

/// How many check-ins are kept in all: 50,000 nodes with five each. One is some kilobyte.
pub const CHECK_INS: u32 = 250_000;

/// After how many check-ins the oldest beyond [`CHECK_INS`] are deleted.
pub const CHECK_INS_BETWEEN_PRUNES: u64 = 1_000;

/// Environments that somebody announces beside those of the code: a feature branch each for some
/// hundred people.
pub const ENVIRONMENTS: u32 = 1_000;

/// Between two readings of the classes from a puppetserver; Puppet Enterprise's is 10 minutes, too.
/// A reading costs it the parsing of what changed.
pub const CLASSES_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// How long one answer of a puppetserver may take: the first one after a deployment parses every
/// manifest of the environment, some seconds for a thousand.
pub const CLASSES_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a connection to a puppetserver may take.
pub const CLASSES_CONNECT: Duration = Duration::from_secs(10);

/// The largest answer of a puppetserver. One class is some 500 bytes; the largest sites have 5,000
/// in an environment.
pub const CLASSES_BYTES: usize = 32 * 1_024 * 1_024;

/// Environments whose classes are read; beyond them nothing is known of the classes.
pub const CLASSES_ENVIRONMENTS: usize = 1_000;

/// Classes that are known in all: 40 environments of the largest sites, some 100 MiB.
pub const CLASSES: usize = 200_000;

/// Of an answer that cannot be used, what is told.
pub const SHOWN_BYTES: usize = 1_024;
