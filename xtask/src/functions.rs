//! `cargo xtask functions`: writes `docs/functions.md`. Main function: [`run`].

use anyhow::Result;

use crate::run;

/// Runs the test that compares the page with the tables, in the mode in which it writes the page.
pub(crate) fn run() -> Result<()> {
    let mut test = run::cargo(&[
        "test",
        "-p",
        "plan-language",
        "--test",
        "it",
        "functions_page",
    ]);
    run::visible(test.env("UPDATE_FUNCTIONS", "1"))
}
