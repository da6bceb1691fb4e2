//! Handling of programs that cannot be started: the fallback to a shell, and the reported reason.
//! Main functions: [`runs_by_shell`], [`describe_start_failure`], [`explain_exit`].
//!
//! Invariant, as in a shell and in Bolt: a text without a `#!` line is a script for `/bin/sh`.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use pxp::defaults::PROGRAM_HEAD_BYTES;
use pxp::task::{ProgramHead, ScriptInterpreter};

/// The shell of scripts that name none.
pub(super) const SHELL: &str = "/bin/sh";

/// The shell's exit code for a program that does not exist.
const NOT_FOUND: i32 = 127;

/// True if the program that was refused with `error` is a script that names no interpreter.
pub(super) fn runs_by_shell(program: &Path, error: &io::Error) -> bool {
    is_no_executable(error) && head(program) == Some(ProgramHead::ShellText)
}

/// The reason for which `program` does not run: a missing file, if that can be determined, with the
/// remedy.
pub(super) fn describe_start_failure(program: &Path, error: &io::Error) -> String {
    let shown = shown(program);
    match reason(program, error) {
        Some(reason) => format!("cannot run {shown}: {reason}"),
        None => format!("cannot run {shown}: {error}"),
    }
}

fn reason(program: &Path, error: &io::Error) -> Option<String> {
    let head = head(program)?;
    if is_no_executable(error) {
        return head.explain_not_executable();
    }
    match (error.kind(), &head) {
        (io::ErrorKind::NotFound, ProgramHead::Script(interpreter)) => Some(interpreter.explain_missing()),
        (io::ErrorKind::NotFound, ProgramHead::Compiled(_)) => Some(
            "it was built for another C library, whose program loader is not on this node; link it statically, or \
             build it for this node"
                .to_owned(),
        ),
        (io::ErrorKind::PermissionDenied, ProgramHead::Script(interpreter))
            if !is_executable(Path::new(&interpreter.path)) =>
        {
            let shown = interpreter.to_display_text();
            Some(format!(
                "its interpreter {shown} is not executable; look at its mode and its directories"
            ))
        }
        (io::ErrorKind::PermissionDenied, _) if is_executable(program) => Some(
            "its user may not execute files there; is the file system mounted with `noexec`, or does a security \
             module forbid it?"
                .to_owned(),
        ),
        (io::ErrorKind::PermissionDenied, _) => {
            Some("it is not executable; give it the mode 755".to_owned())
        }
        (io::ErrorKind::ArgumentListTooLong, _) => Some(
            "its arguments and environment are larger than the system takes; let a task take its parameters by \
             `\"input_method\": \"stdin\"`"
                .to_owned(),
        ),
        _ => None,
    }
}

/// The text that is added to the standard error of a program that ended with `code`: the reason for
/// which `env` did not find its interpreter, or the interpreter did not accept its argument.
/// `search` is the program's `PATH`.
pub(super) fn explain_exit(program: &Path, code: i32, search: Option<&str>) -> Option<String> {
    if code == 0 {
        return None;
    }
    let Some(ProgramHead::Script(interpreter)) = head(program) else {
        return None;
    };
    let is_unread = interpreter.has_carriage_return && !is_found(&interpreter, search);
    let is_absent =
        code == NOT_FOUND && interpreter.by_env.is_some() && !is_found(&interpreter, search);
    let has_odd_argument = interpreter.has_carriage_return && !interpreter.path.ends_with('\r');
    let reason = match () {
        () if is_unread || has_odd_argument => interpreter.explain_carriage_return(),
        () if is_absent => interpreter.explain_missing(),
        () => return None,
    };
    Some(format!("cannot run {}: {reason}", shown(program)))
}

/// True if the program that `env` looks for is in one of the directories of `search`.
fn is_found(interpreter: &ScriptInterpreter, search: Option<&str>) -> bool {
    let Some(name) = &interpreter.by_env else {
        return false;
    };
    if name.contains('/') {
        return is_executable(Path::new(name));
    }
    let directories = search.unwrap_or_default().split(':');
    directories
        .filter(|directory| !directory.is_empty())
        .any(|directory| is_executable(&Path::new(directory).join(name)))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn is_no_executable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}

/// The bare name of a file that was copied for the action: its directory is of no use to the
/// reader.
fn shown(program: &Path) -> String {
    let name = program.file_name().unwrap_or(program.as_os_str());
    name.to_string_lossy().into_owned()
}

fn head(program: &Path) -> Option<ProgramHead> {
    let mut head = Vec::new();
    let file = File::open(program).ok()?;
    file.take(PROGRAM_HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .ok()?;
    Some(ProgramHead::read(&head))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    fn no_executable() -> io::Error {
        io::Error::from_raw_os_error(rustix::io::Errno::NOEXEC.raw_os_error())
    }

    #[test]
    fn a_text_without_an_interpreter_is_for_the_shell() {
        for (content, expected) in [
            (&b"echo hi\n"[..], true),
            (b"", true),
            (b"\x7fELF\x02\0", false),
            (b"#!/bin/sh\n", false),
            (b"\xef\xbb\xbf#!/usr/bin/python3\n", false),
        ] {
            let file = file(content);
            assert_eq!(runs_by_shell(file.path(), &no_executable()), expected);
        }
        let other = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(!runs_by_shell(file(b"echo hi\n").path(), &other));
    }

    #[test]
    fn each_cause_is_named_with_the_way_out() {
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let long = || io::Error::from(io::ErrorKind::ArgumentListTooLong);
        for (content, error, expected) in [
            (
                &b"#! /opt/no/ruby -w\nputs 1\n"[..],
                missing(),
                "its interpreter /opt/no/ruby is not on this node",
            ),
            (
                b"#!/bin/sh\r\necho\r\n",
                missing(),
                "ends with a carriage return",
            ),
            (b"\x7fELF", missing(), "another C library"),
            (
                b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\xb7\0",
                no_executable(),
                "a program for aarch64",
            ),
            (
                b"#!/etc/passwd\n",
                denied(),
                "its interpreter /etc/passwd is not executable",
            ),
            (b"echo\n", denied(), "the mode 755"),
            (b"echo\n", long(), "input_method"),
        ] {
            let told = describe_start_failure(file(content).path(), &error);
            assert!(told.contains(expected), "{told}");
        }
        let told = describe_start_failure(file(b"echo\n").path(), &missing());
        assert!(!told.contains("interpreter"), "{told}");
    }

    #[test]
    fn an_interpreter_that_env_does_not_find_is_named_afterwards() {
        let absent = file(b"#!/usr/bin/env no-such-ruby\n");
        let told = explain_exit(absent.path(), 127, Some("/usr/bin:/bin")).unwrap();
        assert!(
            told.contains("its interpreter no-such-ruby is not in the PATH of this node"),
            "{told}"
        );
        assert_eq!(explain_exit(absent.path(), 1, Some("/usr/bin")), None);
        let found = file(b"#!/usr/bin/env sh\nexit 127\n");
        assert_eq!(explain_exit(found.path(), 127, Some("/usr/bin:/bin")), None);
        let odd = file(b"#!/bin/sh -e\r\n");
        let told = explain_exit(odd.path(), 2, None).unwrap();
        assert!(told.contains("carriage return"), "{told}");
        assert_eq!(explain_exit(odd.path(), 0, None), None);
    }
}
