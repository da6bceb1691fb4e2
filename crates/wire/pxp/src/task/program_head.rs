//! The first bytes of a file that is to be executed, and the reasons for which a node may not
//! execute it. Main type: [`ProgramHead`].
//!
//! Invariant: files are interpreted as Linux and its shells do. A text without a `#!` line is a
//! script for `/bin/sh`; a `#!` line is taken byte by byte, with the carriage return that an editor
//! on Windows leaves in it.

use crate::defaults::INTERPRETER_CHARS;

/// The first bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";
/// The byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Offsets of an ELF file's byte order and of the machine that it is for.
const ELF_DATA: usize = 5;
const ELF_MACHINE: usize = 18;

/// The kind of a program, by its first [`PROGRAM_HEAD_BYTES`](crate::defaults::PROGRAM_HEAD_BYTES).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramHead {
    /// A text without a `#!` line: the shell runs it.
    ShellText,
    /// A text whose `#!` line names its interpreter.
    Script(ScriptInterpreter),
    /// A text with a byte order mark in front of its `#!`, or in UTF-16: a shell would run it as
    /// another language.
    MarkedText,
    /// A compiled program. `Some` holds the name of the system that it is for; `None`: unknown.
    Compiled(Option<&'static str>),
}

/// An interpreter as a `#!` line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptInterpreter {
    /// The path after `#!`; it ends with a carriage return if the line has one directly after the
    /// path.
    pub path: String,
    /// The program that `env` looks for in `PATH`; `None` if the line does not use `env`.
    pub by_env: Option<String>,
    /// True if the line ends with a carriage return.
    pub has_carriage_return: bool,
}

// === impl ProgramHead ===

impl ProgramHead {
    /// Classifies a file by its first bytes.
    pub fn read(head: &[u8]) -> Self {
        if head.starts_with(ELF) {
            return Self::Compiled(machine_name(head));
        }
        if let Some(marked) = head.strip_prefix(BYTE_ORDER_MARK) {
            return match marked.starts_with(b"#!") {
                true => Self::MarkedText,
                false => Self::ShellText,
            };
        }
        if let Some(line) = head.strip_prefix(b"#!") {
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or(line);
            return ScriptInterpreter::read(line).map_or(Self::ShellText, Self::Script);
        }
        match head {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Self::MarkedText,
            // Windows and macOS; any other file with a NUL is not text either.
            [b'M', b'Z', ..] => Self::Compiled(Some("Windows")),
            [0xcf, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => {
                Self::Compiled(Some("macOS"))
            }
            _ if head.contains(&0) => Self::Compiled(None),
            _ => Self::ShellText,
        }
    }

    /// The error text for a node that cannot execute the file although its interpreter exists, or
    /// none is needed.
    pub fn explain_not_executable(&self) -> Option<String> {
        match self {
            Self::ShellText => None,
            Self::Script(interpreter) => Some(format!(
                "its interpreter {} is no program that this node can execute; look at its mode and architecture",
                interpreter.to_display_text()
            )),
            Self::MarkedText => Some(
                "its first line begins with a byte order mark, or it is in UTF-16, so its interpreter cannot be read; \
                 save it as UTF-8 without the mark"
                    .to_owned(),
            ),
            Self::Compiled(machine) => {
                let machine = machine.unwrap_or("another kind of machine");
                Some(format!(
                    "it is a program for {machine}, which this node cannot execute; build it for this node, or give \
                     the task an implementation for such nodes"
                ))
            }
        }
    }
}

// === impl ScriptInterpreter ===

impl ScriptInterpreter {
    /// Parses the line after `#!`. `None` if it names no interpreter; shells then ignore it.
    fn read(line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(line);
        let has_carriage_return = line.ends_with('\r');
        let blank = |c: char| c == ' ' || c == '\t';
        let line = line.trim_matches(blank);
        let (path, arguments) = line.split_once(blank).unwrap_or((line, ""));
        if path.trim_end_matches('\r').is_empty() {
            return None;
        }
        let is_env = path.trim_end_matches('\r').rsplit('/').next() == Some("env");
        let by_env = is_env.then(|| env_program(arguments)).flatten();
        let clipped = |text: &str| text.chars().take(INTERPRETER_CHARS).collect::<String>();
        Some(Self {
            path: clipped(path),
            by_env: by_env.map(clipped),
            has_carriage_return,
        })
    }

    /// The path of the file that the node must have, or the program that `env` must find in its
    /// `PATH` ([`by_env`](Self::by_env)), in a form for error texts.
    pub fn to_display_text(&self) -> String {
        let shown = self.by_env.as_deref().unwrap_or(&self.path);
        shown.trim_end_matches('\r').to_owned()
    }

    /// The error text for a node without the interpreter, with the remedy.
    pub fn explain_missing(&self) -> String {
        if self.has_carriage_return {
            return self.explain_carriage_return();
        }
        let shown = self.to_display_text();
        let place = match self.by_env {
            Some(_) => " in the PATH of",
            None => " on",
        };
        let install = match package(&shown) {
            Some(package) => format!("install {package} there"),
            None => "install it there".to_owned(),
        };
        format!(
            "its interpreter {shown} is not{place} this node; {install}, name another one in the first line of the \
             file, or give the task an implementation for nodes without it (`implementations` with `requirements` in \
             its metadata)"
        )
    }

    /// The error text for a first line that was written on Windows.
    pub fn explain_carriage_return(&self) -> String {
        format!(
            "the first line ends with a carriage return, as editors on Windows write it, so the node does not find \
             its interpreter {}; save the file with Unix line ends (`sed -i 's/\\r$//' FILE`)",
            self.to_display_text()
        )
    }
}

/// The program among the arguments of `env`, after its options and variables.
fn env_program(arguments: &str) -> Option<&str> {
    let mut words = arguments.split([' ', '\t']).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        match word {
            "-u" | "-C" | "--unset" | "--chdir" => {
                words.next();
            }
            _ if word.starts_with('-') || word.contains('=') => {}
            _ => return Some(word),
        }
    }
    None
}

/// The package that provides an interpreter, if its name reveals it.
fn package(interpreter: &str) -> Option<&'static str> {
    if interpreter.starts_with("/opt/puppetlabs/") {
        return Some("the package puppet-agent");
    }
    let name = interpreter.rsplit('/').next().unwrap_or(interpreter);
    match name {
        "ruby" => {
            Some("Ruby (the package ruby; puppet-agent has one in /opt/puppetlabs/puppet/bin)")
        }
        "python3" => Some("Python 3 (the package python3)"),
        "python" | "python2" => Some("Python (or write python3 in the first line)"),
        "bash" => Some("the package bash"),
        "perl" => Some("the package perl"),
        "pwsh" => Some("PowerShell"),
        _ => None,
    }
}

fn machine_name(head: &[u8]) -> Option<&'static str> {
    let bytes = head.get(ELF_MACHINE..ELF_MACHINE + 2)?;
    let bytes = [bytes[0], bytes[1]];
    let is_big_endian = head[ELF_DATA] == 2;
    let number = match is_big_endian {
        true => u16::from_be_bytes(bytes),
        false => u16::from_le_bytes(bytes),
    };
    Some(match number {
        0x03 => "x86 (32 bit)",
        0x08 => "mips",
        0x15 => "ppc64",
        0x16 => "s390x",
        0x28 => "arm (32 bit)",
        0x3e => "x86_64",
        0xb7 => "aarch64",
        0xf3 => "riscv64",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interpreter(head: &[u8]) -> ScriptInterpreter {
        match ProgramHead::read(head) {
            ProgramHead::Script(interpreter) => interpreter,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_that_names_no_interpreter_is_for_the_shell() {
        for text in [
            &b"echo hi\n"[..],
            b"",
            b"#!\necho",
            b"#! \n",
            b"\xef\xbb\xbfecho",
            b"# !/bin/sh",
        ] {
            assert_eq!(ProgramHead::read(text), ProgramHead::ShellText, "{text:?}");
            assert_eq!(ProgramHead::ShellText.explain_not_executable(), None);
        }
    }

    #[test]
    fn the_interpreter_is_named_by_its_path_or_by_env() {
        for (line, path, by_env) in [
            (&b"#!/usr/bin/ruby -w\nputs 1\n"[..], "/usr/bin/ruby", None),
            (
                b"#! /opt/puppetlabs/puppet/bin/ruby",
                "/opt/puppetlabs/puppet/bin/ruby",
                None,
            ),
            (b"#!/usr/bin/env python3\n", "/usr/bin/env", Some("python3")),
            (
                b"#!/usr/bin/env -S -u HOME A=b ruby -w\n",
                "/usr/bin/env",
                Some("ruby"),
            ),
            (b"#!/usr/bin/env\n", "/usr/bin/env", None),
        ] {
            let read = interpreter(line);
            assert_eq!((&*read.path, read.by_env.as_deref()), (path, by_env));
            assert!(!read.has_carriage_return);
        }
        let missing = interpreter(b"#!/usr/bin/env ruby\n").explain_missing();
        assert!(
            missing
                .starts_with("its interpreter ruby is not in the PATH of this node; install Ruby"),
            "{missing}"
        );
        let missing = interpreter(b"#!/opt/puppetlabs/puppet/bin/ruby\n").explain_missing();
        assert!(
            missing.contains("install the package puppet-agent there"),
            "{missing}"
        );
    }

    #[test]
    fn a_carriage_return_is_named_wherever_it_stands() {
        for line in [
            &b"#!/bin/sh\r\necho\r\n"[..],
            b"#!/bin/sh -e\r\n",
            b"#!/usr/bin/env sh\r\n",
        ] {
            let told = interpreter(line).explain_missing();
            assert!(
                told.contains("ends with a carriage return") && told.contains("sh;"),
                "{told}"
            );
        }
    }

    #[test]
    fn programs_name_the_machine_that_they_are_for() {
        let mut elf = [0; 64];
        elf[..4].copy_from_slice(ELF);
        elf[ELF_DATA] = 1;
        elf[ELF_MACHINE] = 0xb7;
        assert_eq!(
            ProgramHead::read(&elf),
            ProgramHead::Compiled(Some("aarch64"))
        );
        elf[ELF_DATA] = 2;
        elf[ELF_MACHINE..ELF_MACHINE + 2].copy_from_slice(&[0, 0x16]);
        assert_eq!(
            ProgramHead::read(&elf),
            ProgramHead::Compiled(Some("s390x"))
        );
        for (head, expected) in [
            (&b"\x7fELF"[..], ProgramHead::Compiled(None)),
            (b"MZ\x90\0", ProgramHead::Compiled(Some("Windows"))),
            (b"a\0b", ProgramHead::Compiled(None)),
            (b"\xef\xbb\xbf#!/bin/sh\n", ProgramHead::MarkedText),
            (b"\xff\xfe#\0!\0", ProgramHead::MarkedText),
        ] {
            assert_eq!(ProgramHead::read(head), expected);
            assert!(expected.explain_not_executable().is_some());
        }
    }
}
