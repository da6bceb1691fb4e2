//! Completions: what a shell proposes when Tab is pressed.

use std::io::Write as _;
use std::process::Command;

use clap::CommandFactory as _;

use super::Arguments;
use crate::program_name::link_names;
use crate::{Shell, completions};

/// What bash proposes for the last of `words`, with the completion that is registered for the first.
fn proposed(name: Option<&str>, words: &[&str]) -> Vec<String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let script = completions(Shell::Bash, Arguments::command(), name);
    file.write_all(script.as_bytes()).unwrap();
    let ask = r#"
        source "$0"
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        [[ $(complete -p "$1") =~ -F\ ([^ ]+) ]] || exit 1
        "${BASH_REMATCH[1]}" "$1" "${@: -1}" "${@: -2:1}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let mut bash = Command::new("bash");
    let bash = bash.args(["--norc", "-c", ask]).arg(file.path());
    let output = bash.args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let words = String::from_utf8(output.stdout).unwrap();
    words.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_the_program_and_each_of_its_links() {
    assert_eq!(proposed(None, &["tutti", "job", "sto"]), ["stop"]);
    let job = Some("puppet-job");
    assert_eq!(proposed(job, &["puppet-job", "sto"]), ["stop"]);
    assert_eq!(
        proposed(job, &["puppet-job", "run", "--node-g"]),
        ["--node-group"]
    );
    let query = Some("puppet-query");
    let flags = proposed(query, &["puppet-query", "--"]);
    for flag in ["--urls", "--service-url"] {
        assert!(flags.contains(&flag.to_owned()), "{flag}: {flags:?}");
    }
}

#[test]
fn every_link_has_a_script_in_every_shell() {
    use clap::ValueEnum as _;
    for shell in Shell::value_variants() {
        for name in link_names() {
            let script = completions(*shell, Arguments::command(), Some(&name));
            assert!(script.contains(&name), "{shell} {name}");
            assert!(
                !script.contains("node-group list"),
                "{shell} {name} is not of one tool"
            );
        }
    }
}
