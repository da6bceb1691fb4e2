//! The names that Puppet Enterprise's client tools have. Main function: [`read`].
//!
//! The rule: a link to this program by the name `puppet-job` takes what `puppet job` takes, for the
//! grammar is the same one; Puppet itself finds `puppet-job` in `PATH` when it is told `puppet job`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// By which name the program was called, where that makes a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Name {
    /// As itself.
    #[default]
    Tutti,
    /// As one of Puppet Enterprise's client tools.
    Puppet,
}

/// Puppet Enterprise's tools. `job` is there as `puppet-job`, and so on.
pub const TOOLS: [&str; 8] = [
    "access", "app", "code", "db", "job", "plan", "query", "task",
];

/// What their names begin with.
pub(crate) const PREFIX: &str = "puppet-";

/// By which a link to this program is one of them.
pub fn of_links() -> Vec<String> {
    TOOLS.iter().map(|tool| format!("{PREFIX}{tool}")).collect()
}

/// The word for all of them, as in `tutti puppet job run`.
const PUPPET: &str = "puppet";

/// Who is called and with what: `puppet-job run …` and `tutti puppet job run …` become
/// `puppet job run …`, everything else stays.
pub fn read(arguments: impl IntoIterator<Item = OsString>) -> (Name, Vec<OsString>) {
    let mut arguments: Vec<_> = arguments.into_iter().collect();
    if let Some(tool) = arguments.first().and_then(|program| tool(program)) {
        arguments.splice(..1, [PUPPET.into(), tool.into()]);
    } else if arguments.get(1).is_some_and(|word| word == PUPPET) {
        arguments.remove(0);
    } else {
        return (Name::Tutti, arguments);
    }
    // The version is that of the program, not of the tool.
    if arguments.get(2).is_some_and(|word| word == "--version") {
        arguments.remove(1);
    }
    (Name::Puppet, arguments)
}

/// `job` for `/usr/local/bin/puppet-job`.
fn tool(program: &OsStr) -> Option<&'static str> {
    let name = Path::new(program).file_name()?.to_str()?;
    let name = name.strip_prefix(PREFIX)?;
    TOOLS.into_iter().find(|tool| *tool == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(words: &[&str]) -> (Name, Vec<String>) {
        let (name, words) = read(words.iter().map(OsString::from));
        let text = words.into_iter().map(|word| word.into_string().unwrap());
        (name, text.collect())
    }

    #[test]
    fn every_tool_of_puppet_enterprise_has_its_name() {
        for tool in TOOLS {
            let program = format!("/opt/puppetlabs/bin/puppet-{tool}");
            let expected = (
                Name::Puppet,
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
                (Name::Tutti, words.iter().map(ToString::to_string).collect())
            );
        }
    }

    #[test]
    fn a_tool_tells_the_version_of_the_program() {
        let version = vec!["puppet".to_owned(), "--version".to_owned()];
        assert_eq!(
            called(&["puppet-job", "--version"]),
            (Name::Puppet, version)
        );
    }

    #[test]
    fn what_is_not_unicode_is_handed_on() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = OsString::from_vec(vec![b'x', 0xff]);
        let (name, words) = read([OsString::from("puppet-query"), odd.clone()]);
        assert_eq!((name, &words[2]), (Name::Puppet, &odd));
    }
}
