//! A program that cannot be started: what else runs it, and what is told. Main functions: [`runs_by_shell`],
//! [`cannot_run`].
//!
//! The rule, as a shell and Bolt have it: a text without a `#!` line is a script for `/bin/sh`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::defaults::SCRIPT_HEAD_BYTES;

/// The shell of scripts that name none.
pub(super) const SHELL: &str = "/bin/sh";

/// Whether the program that was refused with `error` is a script that names no interpreter.
pub(super) fn runs_by_shell(program: &Path, error: &io::Error) -> bool {
    let is_no_executable = error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error());
    is_no_executable
        && head(program).is_some_and(|head| !head.contains(&0) && !head.starts_with(b"#!"))
}

/// Why `program` does not run, with the interpreter where that is what is missing.
pub(super) fn cannot_run(program: &Path, error: &io::Error) -> String {
    let shown = program.display();
    let interpreter = head(program).and_then(|head| interpreter(&head));
    match (error.kind(), interpreter) {
        (io::ErrorKind::NotFound, Some(interpreter)) => format!(
            "cannot run {shown}: its interpreter {interpreter} is not on this node; install it, or name another one \
             in the first line of the file"
        ),
        _ => format!("cannot run {shown}: {error}"),
    }
}

fn head(program: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = File::open(program).ok()?;
    file.take(SCRIPT_HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The program in a `#!` line.
fn interpreter(head: &[u8]) -> Option<String> {
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = String::from_utf8_lossy(line);
    line.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    #[test]
    fn point_2_4_a_text_without_an_interpreter_is_for_the_shell() {
        let refused = io::Error::from_raw_os_error(rustix::io::Errno::NOEXEC.raw_os_error());
        for (content, expected) in [
            (&b"echo hi\n"[..], true),
            (b"", true),
            (b"\x7fELF\x02\0", false),
            (b"#!/bin/sh\n", false),
        ] {
            assert_eq!(runs_by_shell(file(content).path(), &refused), expected);
        }
        let other = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(!runs_by_shell(file(b"echo hi\n").path(), &other));
    }

    #[test]
    fn point_2_4_a_missing_interpreter_is_named() {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let told = |content| cannot_run(file(content).path(), &missing);
        let words = told(b"#! /opt/no/ruby -w\nputs 1\n");
        assert!(
            words.contains("its interpreter /opt/no/ruby is not on this node"),
            "{words}"
        );
        assert!(!told(b"echo\n").contains("interpreter"));
    }
}
