//! A program that ends with the agent: [`attend_main`].
//!
//! The agent starts it through its own executable (the attendant), which is the parent of the
//! program and reads a pipe whose other end the agent holds. However the agent ends, even by `kill
//! -9`, that pipe is closed with it. Invariant: when the pipe or the program has ended, all
//! processes below are ended too.

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use super::tree;
use crate::defaults::{KILL_PATIENCE, KILL_ROUND};

/// Keyword that makes a wrapper's executable attend a program.
pub(crate) const ATTENDANT: &str = "+attend";

/// The first descriptor that is inherited unintentionally: after stdin, stdout and stderr.
const FIRST_INHERITED: i32 = 3;

/// Event that ends the attendant's wait.
enum AttendantEvent {
    Agent,
    Program(io::Result<std::process::ExitStatus>),
}

/// Runs `args` (a program and its arguments) with this process's stdout and stderr, until the
/// program ends or stdin is closed. Returns the program's exit code. Must be called before any
/// thread is started.
pub(crate) fn attend_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(program) = args.next() else {
        return ExitCode::from(2);
    };
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
    // A new session: a signal to the agent's terminal reaches the agent first.
    let _ = rustix::process::setsid();
    let root = rustix::process::getpid();
    if rustix::process::set_child_subreaper(Some(root)).is_err() {
        return ExitCode::FAILURE;
    }
    let child = Command::new(program)
        .args(args)
        .current_dir("/")
        .stdin(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return ExitCode::from(127);
    };
    let (ends, ended) = mpsc::channel();
    let of_agent = ends.clone();
    std::thread::spawn(move || {
        // Nothing is ever written there.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = of_agent.send(AttendantEvent::Agent);
    });
    std::thread::spawn(move || {
        let _ = ends.send(AttendantEvent::Program(child.wait()));
    });
    let code = match ended.recv() {
        Ok(AttendantEvent::Program(Ok(status))) => {
            status.code().and_then(|code| u8::try_from(code).ok())
        }
        _ => None,
    };
    end_all_below(root.as_raw_pid());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

fn end_all_below(root: i32) {
    let deadline = Instant::now() + KILL_PATIENCE;
    while tree::count_descendants(root) > 0 && Instant::now() < deadline {
        tree::kill_descendants(root);
        std::thread::sleep(KILL_ROUND);
    }
}
