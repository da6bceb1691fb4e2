//! `cargo xtask resource-types`: writes the table of Puppet's own resource types. Main function:
//! [`run`].
//!
//! Invariant: the table is written only from Puppet's own answers.

use anyhow::Result;

use crate::run;

/// Runs the test that compares the table with Puppet 8, in the mode in which it writes the table.
pub(crate) fn run() -> Result<()> {
    let mut test = run::cargo(&[
        "test",
        "-p",
        "oracles",
        "--test",
        "it",
        "resource_types::core_types::core_types",
    ]);
    run::visible(test.env("UPDATE_RESOURCE_TYPES", "1"))
}
