//! Shell completions and man pages, from the definition of the command line.

use std::path::Path;

use crate::program_name::PREFIX;
use crate::{CommandFailure, Result, completion};

pub use clap_complete::Shell;

/// The completion script for `shell`: of `command` itself, or of the tool of Puppet Enterprise for
/// which a link named `tool` stands.
pub fn completions(shell: Shell, command: clap::Command, tool: Option<&str>) -> String {
    let verb = tool.and_then(|tool| command.find_subcommand(tool.strip_prefix(PREFIX)?).cloned());
    match (tool, verb) {
        (Some(tool), Some(verb)) if shell == Shell::Bash => {
            // `clap_complete` loses the verbs of a program with a hyphen in its name.
            let name = tool.replace('-', "_");
            let script = script(shell, verb.name(name.clone()), &name);
            script.replace(&format!("default {name}\n"), &format!("default {tool}\n"))
        }
        (Some(tool), Some(verb)) => script(shell, verb.name(tool.to_owned()), tool),
        _ => {
            let name = command.get_name().to_owned();
            script(shell, command, &name)
        }
    }
}

fn script(shell: Shell, mut command: clap::Command, name: &str) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    completion::with_names(shell, &String::from_utf8_lossy(&script), &command, name)
}

/// Writes one page per command and verb into `directory`.
pub fn man_pages(command: clap::Command, directory: &Path) -> Result<()> {
    let fail = CommandFailure::write(directory);
    std::fs::create_dir_all(directory).map_err(&fail)?;
    clap_mangen::generate_to(command, directory).map_err(fail)
}
