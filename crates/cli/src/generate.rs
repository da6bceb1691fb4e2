//! Shell completions and man pages, from the one definition of the command line.

use std::path::Path;

use crate::Failure;

pub use clap_complete::Shell;

/// The completion script for `shell`, to stdout.
pub fn completions(shell: Shell, mut command: clap::Command) {
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, name, &mut std::io::stdout());
}

/// One page per command and verb, into `directory`.
pub fn man_pages(command: clap::Command, directory: &Path) -> Result<(), Failure> {
    let fail = |source| Failure::Write {
        path: directory.to_owned(),
        source,
    };
    std::fs::create_dir_all(directory).map_err(fail)?;
    clap_mangen::generate_to(command, directory).map_err(fail)
}
