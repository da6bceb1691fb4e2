//! The names of Puppet Enterprise's client tools. Main function: [`detect_program_name`].
//!
//! Invariant: a link to this program with the name `puppet-job` takes the arguments of `puppet
//! job`, with the same grammar; Puppet itself finds `puppet-job` in `PATH` for `puppet job`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The name under which the program was called, if that changes its behaviour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramName {
    /// Called by its own name.
    #[default]
    Tutti,
    /// Called as one of Puppet Enterprise's client tools.
    Puppet,
}

/// Puppet Enterprise's tools, without the prefix: `job` is called as `puppet-job`.
pub const TOOLS: [&str; 8] = [
    "access", "app", "code", "db", "job", "plan", "query", "task",
];

/// Prefix of their names.
pub(crate) const PREFIX: &str = "puppet-";

/// Names under which a link to this program acts as one of them.
pub fn link_names() -> Vec<String> {
    TOOLS.iter().map(|tool| format!("{PREFIX}{tool}")).collect()
}

/// The first argument that selects them, as in `tutti puppet job run`.
const PUPPET: &str = "puppet";

/// Normalizes the name and the arguments: `puppet-job run …` and `tutti puppet job run …` become
/// `puppet job run …`; everything else stays.
pub fn detect_program_name(
    arguments: impl IntoIterator<Item = OsString>,
) -> (ProgramName, Vec<OsString>) {
    let mut arguments: Vec<_> = arguments.into_iter().collect();
    if let Some(tool) = arguments
        .first()
        .and_then(|program| tool_of_program(program))
    {
        arguments.splice(..1, [PUPPET.into(), tool.into()]);
    } else if arguments.get(1).is_some_and(|word| word == PUPPET) {
        arguments.remove(0);
    } else {
        return (ProgramName::Tutti, arguments);
    }
    // The version of the program, not of the tool.
    if arguments.get(2).is_some_and(|word| word == "--version") {
        arguments.remove(1);
    }
    (ProgramName::Puppet, arguments)
}

/// The tool of a program path: `job` for `/usr/local/bin/puppet-job`.
fn tool_of_program(program: &OsStr) -> Option<&'static str> {
    let name = Path::new(program).file_name()?.to_str()?;
    let name = name.strip_prefix(PREFIX)?;
    TOOLS.into_iter().find(|tool| *tool == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(words: &[&str]) -> (ProgramName, Vec<String>) {
        let (name, words) = detect_program_name(words.iter().map(OsString::from));
        let text = words.into_iter().map(|word| word.into_string().unwrap());
        (name, text.collect())
    }

    #[test]
    fn every_tool_of_puppet_enterprise_has_its_name() {
        for tool in TOOLS {
            let program = format!("/opt/puppetlabs/bin/puppet-{tool}");
            let expected = (
                ProgramName::Puppet,
                vec!["puppet".to_owned(), tool.to_owned(), "x".to_owned()],
            );
            assert_eq!(called(&[&program, "x"]), expected);
            assert_eq!(called(&["tutti", "puppet", tool, "x"]), expected);
        }
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for words in [
            &["tutti", "job", "list"][..],
            &["/usr/bin/puppet-agent", "job"],
            &["puppet-", "job"],
            &["tutti"],
            &[],
        ] {
            assert_eq!(
                called(words),
                (
                    ProgramName::Tutti,
                    words.iter().map(ToString::to_string).collect()
                )
            );
        }
    }

    #[test]
    fn a_tool_tells_the_version_of_the_program() {
        let version = vec!["puppet".to_owned(), "--version".to_owned()];
        assert_eq!(
            called(&["puppet-job", "--version"]),
            (ProgramName::Puppet, version)
        );
    }

    #[test]
    fn what_is_not_unicode_is_handed_on() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = OsString::from_vec(vec![b'x', 0xff]);
        let (name, words) = detect_program_name([OsString::from("puppet-query"), odd.clone()]);
        assert_eq!((name, &words[2]), (ProgramName::Puppet, &odd));
    }
}
