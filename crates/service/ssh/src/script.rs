//! The command lines of a run, step by step: [`ShellScripts`].
//!
//! Invariants: no task parameter and no secret is ever in a command line, which all users of the
//! node can read; they are passed by standard input, or in files that only the run's user can read.
//! Each command has one line, because some login shells accept no more.

use pxp::task::ProgramHead;

use crate::connection::SshConnection;
use crate::defaults::STOP_GRACE_SECONDS;
use crate::quote::{quote, sh};
use crate::run_spec::RemoteProgram;

/// File of the run with variables. Uploads never have a name like this at the top of the directory.
pub(crate) const VARIABLES: &str = ".variables";
/// File with standard input, for runs with a terminal.
pub(crate) const INPUT: &str = ".input";
/// Script that creates files and directories.
pub(crate) const PLACEMENT: &str = ".placement";
/// File with the number of the process group.
const GROUP: &str = ".group";

/// A shell's exit code for a program that does not exist.
const NOT_FOUND: u8 = 127;
/// A shell's exit code for a program that cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;

/// Exit code of the `kill` script if the run has ended already.
pub(crate) const NOTHING_TO_END: u32 = 3;

/// Builds the command lines of one run.
#[derive(Debug)]
pub(crate) struct ShellScripts<'a> {
    connection: &'a SshConnection,
    /// Prompt that `sudo` prints and marker that shows its success, both unguessable.
    prompt: String,
    marker: String,
}

impl<'a> ShellScripts<'a> {
    /// Creates the builder; `nonce` must be unguessable and consist of letters and digits.
    pub(crate) fn new(connection: &'a SshConnection, nonce: &str) -> Self {
        Self {
            connection,
            prompt: format!("[tutti {nonce}] password: "),
            marker: format!("tutti-began-{nonce}"),
        }
    }

    /// True if lines run as another user, after a dialog with `sudo`.
    pub(crate) fn changes_user(&self) -> bool {
        self.connection.run_as.is_some()
    }

    pub(crate) fn prompt(&self) -> &str {
        &self.prompt
    }

    pub(crate) fn marker(&self) -> &str {
        &self.marker
    }

    /// Creates the run's directory, accessible to its user alone, and prints its path.
    pub(crate) fn make_directory(&self) -> String {
        let base = match &self.connection.tmpdir {
            Some(tmpdir) => quote(tmpdir),
            None => "\"${TMPDIR:-/tmp}\"".to_owned(),
        };
        self.line(&format!("umask 077; mktemp -d {base}/tutti.XXXXXXXXXX"))
    }

    /// Writes standard input to `path` below `directory`, and prints its size.
    pub(crate) fn upload(&self, directory: &str, path: &str, executable: bool) -> String {
        let target = quote(&format!("./{path}"));
        let parent = match path.rsplit_once('/') {
            Some((parent, _)) => format!("mkdir -p {} && ", quote(&format!("./{parent}"))),
            None => String::new(),
        };
        let mode = if executable { "700" } else { "600" };
        self.line(&format!(
            "umask 077; cd {} && {parent}cat > {target} && chmod {mode} {target} && wc -c < {target}",
            quote(directory)
        ))
    }

    /// Runs the program. Its process group is recorded first, so that it can be ended. `head` is
    /// that of the program's file, if it is one.
    pub(crate) fn run(
        &self,
        directory: &str,
        program: &RemoteProgram,
        head: &ProgramHead,
        variables: bool,
        input: bool,
    ) -> String {
        let file = |name: &str| quote(&format!("{directory}/{name}"));
        let mut script = format!(
            "_g=; {{ read -r _1 _2 _3 _4 _g _5 < /proc/$$/stat; }} 2>/dev/null; \
             [ -n \"$_g\" ] || _g=$(ps -o pgid= -p $$ | tr -d ' '); echo \"$_g\" > {}; ",
            file(GROUP)
        );
        if variables {
            let variables = file(VARIABLES);
            script.extend([". ", &variables, "; rm -f ", &variables, "; "]);
        }
        if let RemoteProgram::File { path, .. } = program {
            script.push_str(&interpreter_check(path.file_name(), head));
        }
        script.push_str("exec ");
        match program {
            RemoteProgram::Line(line) => script.push_str(&sh(line)),
            RemoteProgram::File { path, arguments } => {
                if *head == ProgramHead::ShellText {
                    script.push_str("sh ");
                }
                script.push_str(&file(path.as_str()));
                for argument in arguments {
                    script.push(' ');
                    script.push_str(&quote(argument));
                }
            }
            RemoteProgram::PlaceFiles(_) => script.extend(["sh ", &file(PLACEMENT)]),
        }
        if input {
            script.extend([" < ", &file(INPUT)]);
        } else if self.connection.tty {
            script.push_str(" < /dev/null");
        }
        self.line(&script)
    }

    /// Ends the run's process group, with SIGTERM first. Waits for its number, since the run may
    /// just begin.
    pub(crate) fn kill(&self, directory: &str) -> String {
        let group = quote(&format!("{directory}/{GROUP}"));
        self.line(&format!(
            "n=0; while [ ! -s {group} ] && [ $n -lt 2 ]; do sleep 1; n=$((n+1)); done; \
             read -r g < {group} || exit {NOTHING_TO_END}; \
             case $g in ''|*[!0-9]*|0|1) exit {NOTHING_TO_END};; esac; \
             kill -TERM -\"$g\" || exit {NOTHING_TO_END}; \
             n=0; while [ $n -lt {STOP_GRACE_SECONDS} ]; do \
             kill -0 -\"$g\" 2>/dev/null || exit 0; sleep 1; n=$((n+1)); done; \
             kill -KILL -\"$g\" 2>/dev/null; exit 0"
        ))
    }

    /// Removes the run's directory.
    pub(crate) fn clean_up(&self, directory: &str) -> String {
        self.line(&format!("cd / && rm -rf -- {}", quote(directory)))
    }

    /// Runs the script as the connection's `run-as` user.
    fn line(&self, script: &str) -> String {
        let Some(user) = &self.connection.run_as else {
            return sh(script);
        };
        let script = sh(&format!("echo {} >&2; {script}", self.marker));
        let user = quote(user);
        let words = &self.connection.run_as_command;
        if !words.is_empty() {
            let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
            return format!("{} {user} {script}", words.join(" "));
        }
        match &self.connection.sudo_password {
            None => format!("sudo -n -H -u {user} {script}"),
            Some(_) => format!("sudo -S -H -p {} -u {user} {script}", quote(&self.prompt)),
        }
    }
}

/// Exits with an agent's message if the node lacks the interpreter of the file: a shell would only
/// report that there is no such file.
fn interpreter_check(name: &str, head: &ProgramHead) -> String {
    let refuse = |reason: &str, code: u8| {
        let words = quote(&format!("cannot run {name}: {reason}"));
        format!("{{ printf '%s\\n' {words} >&2; exit {code}; }}; ")
    };
    match head {
        ProgramHead::Script(interpreter) => {
            let is_there = match &interpreter.by_env {
                Some(name) => format!("command -v {} >/dev/null 2>&1", quote(name)),
                None => format!("[ -e {} ]", quote(&interpreter.path)),
            };
            format!(
                "{is_there} || {}",
                refuse(&interpreter.explain_missing(), NOT_FOUND)
            )
        }
        ProgramHead::MarkedText => head
            .explain_not_executable()
            .map_or_else(String::new, |reason| refuse(&reason, NOT_EXECUTABLE)),
        ProgramHead::ShellText | ProgramHead::Compiled(_) => String::new(),
    }
}
