//! A program that ends with the agent: [`attend_main`].
//!
//! The agent starts it through its own executable, which stands between the two and reads a pipe
//! whose other end the agent holds. However the agent ends, also by `kill -9`, that pipe ends with
//! it. The rule: when the pipe or the program has ended, everything below is ended too.

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use super::tree;
use crate::defaults::{KILL_PATIENCE, KILL_ROUND};

/// The word that makes a wrapper's executable attend a program.
pub(crate) const ATTENDANT: &str = "+attend";

/// The first descriptor that nothing here was meant to get: after stdin, stdout and stderr.
const FIRST_INHERITED: i32 = 3;

/// Event that ends the attendant's wait.
enum Ended {
    Agent,
    Program(io::Result<std::process::ExitStatus>),
}

/// Runs `args` (a program and its arguments) with this process's stdout and stderr, until it ends or
/// stdin does. Returns the program's exit code. To be called before any thread is started.
pub(crate) fn attend_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(program) = args.next() else {
        return ExitCode::from(2);
    };
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
    // A session of its own: a signal to the agent's terminal reaches the agent first.
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
        let _ = of_agent.send(Ended::Agent);
    });
    std::thread::spawn(move || {
        let _ = ends.send(Ended::Program(child.wait()));
    });
    let code = match ended.recv() {
        Ok(Ended::Program(Ok(status))) => status.code().and_then(|code| u8::try_from(code).ok()),
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
