//! Limits for rules and groups, with the arithmetic behind them.

use std::time::Duration;

/// Maximum nesting depth of the conditions of a rule. Rules written by hand have three levels,
/// generated ones ten; the functions that walk a rule recurse once per level, with some 200 bytes
/// of stack.
pub const RULE_DEPTH: usize = 64;

/// Maximum number of conditions in one rule. Each pinned node is one condition: 50,000 nodes
/// pinned to one group, and as many again.
pub const RULE_CONDITIONS: usize = 100_000;

/// Maximum number of steps in a path into a fact.
pub const PATH_STEPS: usize = 32;

/// Maximum length of a text in a rule, in bytes: a value or a step of a path.
pub const RULE_TEXT_BYTES: usize = 8 * 1_024;

/// Maximum number of patterns in one rule. With [`PATTERN_BYTES`] a hostile rule takes 128 MiB,
/// and only an editor of rules can write one.
pub const RULE_PATTERNS: usize = 512;

/// Maximum memory of one compiled pattern, in bytes: some hundred times as much as a certname
/// needs.
pub const PATTERN_BYTES: usize = 256 * 1_024;

/// Maximum nesting depth of the groups in a pattern.
pub const PATTERN_DEPTH: u32 = 64;

/// Maximum number of node groups. Large sites have some hundred.
pub const GROUPS: usize = 10_000;

/// Maximum nesting depth of node groups below the root. Inherited values are computed when groups
/// change, for each ancestor of a group.
pub const GROUP_DEPTH: usize = 64;

/// Maximum length of the name of a group, an environment, a class, a parameter or a variable, in
/// bytes.
pub const NAME_BYTES: usize = 1_024;

/// Maximum length of a group's description, in bytes.
pub const DESCRIPTION_BYTES: usize = 16 * 1_024;

/// Maximum size of one group's classes, configuration data and variables together, in bytes of
/// JSON: a page of parameters is 4 KiB.
pub const GROUP_DATA_BYTES: usize = 4 * 1_024 * 1_024;

/// Number of check-ins kept for each node: the current one, the previous one and a few before.
pub const CHECK_INS_PER_NODE: u32 = 5;

/// Number of check-ins kept in total: 50,000 nodes with five each. One takes about a kilobyte.
pub const CHECK_INS: u32 = 250_000;

/// Number of check-ins after which the oldest beyond [`CHECK_INS`] are deleted.
pub const CHECK_INS_BETWEEN_PRUNES: u64 = 1_000;

/// Maximum number of announced environments, in addition to those of the code: one feature branch
/// each for some hundred people.
pub const ENVIRONMENTS: u32 = 1_000;

/// Interval between two readings of the classes from a puppetserver; Puppet Enterprise also uses
/// 10 minutes. For each reading the puppetserver parses the files that changed.
pub const CLASSES_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Timeout for one response of a puppetserver: the first one after a deployment parses every
/// manifest of the environment, which takes some seconds for a thousand.
pub const CLASSES_TIMEOUT: Duration = Duration::from_secs(120);

/// Timeout for connecting to a puppetserver.
pub const CLASSES_CONNECT: Duration = Duration::from_secs(10);

/// Maximum size of a puppetserver's response, in bytes. One class takes some 500 bytes; the
/// largest sites have 5,000 in an environment.
pub const CLASSES_BYTES: usize = 32 * 1_024 * 1_024;

/// Maximum number of environments whose classes are read; the classes of further ones are unknown.
pub const CLASSES_ENVIRONMENTS: usize = 1_000;

/// Maximum number of known classes in total: 40 environments of the largest sites, some 100 MiB.
pub const CLASSES: usize = 200_000;

/// Number of bytes of an unusable response that an error message quotes.
pub const SHOWN_BYTES: usize = 1_024;
