//! `puppet app`: a tool of Puppet Enterprise that Tutti does not implement. Main type:
//! [`UnparsedArguments`].
//!
//! Invariant: a script that calls it gets an error at once, with exit code 2.

use std::ffi::OsString;

use crate::CommandFailure;

/// The arguments of `puppet app`, which are accepted and not read.
#[derive(Debug, clap::Args)]
pub struct UnparsedArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<OsString>,
}

/// The error for every call of `puppet app`.
pub(crate) fn unsupported_app_error() -> CommandFailure {
    CommandFailure::Usage(
        "Tutti does not orchestrate applications yet: name nodes, a query or a node group, as in \
         `tutti job run --query …`"
            .to_owned(),
    )
}
