//! Commands that are printed and run. Main function: [`visible`].

use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Prints the command line, runs it, and fails if it fails.
pub(crate) fn visible(command: &mut Command) -> Result<()> {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let line = words.join(" ");
    println!("$ {line}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// A cargo command in this workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// A built program, in the workspace's directory.
pub(crate) fn program(path: &std::path::Path) -> Command {
    let mut command = Command::new(path);
    command.current_dir(root());
    command
}

/// The workspace's directory.
pub(crate) fn root() -> std::path::PathBuf {
    let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}
