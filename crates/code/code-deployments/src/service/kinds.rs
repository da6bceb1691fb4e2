//! Kinds of errors, as clients see them.

/// Code Manager's, for whatever keeps an environment from being deployed.
pub const DEPLOY_FAILURE: &str = "puppetlabs.code-manager/deploy-failure";
/// The environment stays with a version.
pub const PINNED: &str = "tutti/environment-pinned";
/// Plans or jobs work with the environment, and want it to stay.
pub const HELD: &str = "tutti/environment-held";
/// The directories of code cannot be written to.
pub const UNWRITABLE: &str = "tutti/code-unwritable";
