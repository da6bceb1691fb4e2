//! Helpers of all measurements: [`figure`] prints a figure, [`beside`] finds a program.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

/// Prints one figure.
pub(crate) fn figure(name: &str, values: &Value) {
    println!("{}", json!({"figure": name, "values": values}));
}

/// The path of a program in the directory of this one.
pub(crate) fn beside(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(path.exists(), "{} is not built", path.display());
    Ok(path)
}
