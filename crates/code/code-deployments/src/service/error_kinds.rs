//! Kinds of errors, as clients see them.

/// Code Manager's error kind for any failure of a deployment.
pub const DEPLOY_FAILURE: &str = "puppetlabs.code-manager/deploy-failure";
/// The environment is pinned to a version.
pub const PINNED: &str = "tutti/environment-pinned";
/// Plans or jobs hold the environment and need it unchanged.
pub const HELD: &str = "tutti/environment-held";
/// The directories of code cannot be written to.
pub const UNWRITABLE: &str = "tutti/code-unwritable";
