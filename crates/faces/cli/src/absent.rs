//! `puppet app`: a tool of Puppet Enterprise that there is nothing behind yet. Main type: [`Rest`].
//!
//! The rule: a script that calls it is told so at once, with exit code 2, and nothing else.

use std::ffi::OsString;

use crate::Failure;

/// Whatever was typed.
#[derive(Debug, clap::Args)]
pub struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<OsString>,
}

/// `app show`.
pub(crate) fn app() -> Failure {
    Failure::Usage(
        "Tutti does not orchestrate applications yet: name nodes, a query or a node group, as in \
         `tutti job run --query …`"
            .to_owned(),
    )
}
