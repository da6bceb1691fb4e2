//! Exit codes of the client, and the result of a verb: [`VerbResult`].

use crate::Result;

/// Exit code if everything succeeded.
pub const EXIT_SUCCESS: u8 = 0;

/// Exit code if the command did its work and at least one node failed.
pub const EXIT_NODES_FAILED: u8 = 1;

/// Exit code if the command was used wrongly, or the service could not do it.
pub const EXIT_ERROR: u8 = 2;

/// The exit code of a verb, or the reason why it could not do its work.
pub type VerbResult = Result<u8>;
