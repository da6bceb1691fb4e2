//! CPU time of programs, and of this one: [`run`] and [`used_so_far`].
//!
//! Invariant: the time is the kernel's, user and system together. That of a process counts for its parent once the parent has
//! waited for it, so processes that outlive their parent, such as daemons, are missing.

use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Index of `utime` among the fields of `/proc/PID/stat` after the name; `stime`, `cutime` and `cstime` follow.
const FIRST_TIME: usize = 11;

/// A program that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub output: Output,
    pub wall: Duration,
    /// CPU time of the program and of its descendants.
    pub cpu: Duration,
}

/// Runs a command to its end.
pub(super) fn run(command: &mut Command) -> Result<Finished> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = thread::scope(|scope| {
        let beside = scope.spawn(|| read(stderr));
        (read(stdout), beside.join().expect("reading does not panic"))
    });
    let pid = Pid::from_child(&child);
    // The kernel has the times as long as the process is not waited for.
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(pid), ended).context("cannot wait for the program")?;
    let cpu = of_process(&pid.as_raw_nonzero().to_string())?;
    let status = child.wait()?;
    Ok(Finished {
        output: Output {
            status,
            stdout: stdout?,
            stderr: stderr?,
        },
        wall: started.elapsed(),
        cpu,
    })
}

/// CPU time of this process and of all commands that it has run so far.
pub(super) fn used_so_far() -> Result<Duration> {
    of_process("self")
}

/// The share of the machine's cores that were busy with it.
pub(super) fn utilisation(cpu: Duration, wall: Duration) -> f64 {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    cpu.as_secs_f64() / (wall.as_secs_f64() * cores as f64)
}

fn read(pipe: Option<impl Read>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.map(|mut pipe| pipe.read_to_end(&mut bytes))
        .transpose()?;
    Ok(bytes)
}

fn of_process(pid: &str) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let stat = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let ticks = ticks(&stat).with_context(|| format!("{path} has no times: {stat}"))?;
    let per_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_secs_f64(ticks as f64 / per_second as f64))
}

/// The sum of the four times in a line of `/proc/PID/stat`.
fn ticks(stat: &str) -> Option<u64> {
    // The name may contain blanks and brackets; fields are counted from its closing bracket.
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(FIRST_TIME).take(4);
    let times: Vec<u64> = times.map_while(|time| time.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_from_the_end_of_the_name() {
        let stat = "7 (a) b 1 2) S 1 7 7 0 -1 4194560 100 0 0 0 1 20 300 4000 20 0 1 0 5";
        assert_eq!(ticks(stat), Some(4321));
        assert_eq!(ticks("7 (a) S 1 7"), None);
    }

    #[test]
    fn a_program_is_charged_with_the_work_of_its_children_and_not_with_waiting() {
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        let script = format!("sh -c '{work}'; sleep 0.3; echo out; echo err >&2; exit 3");
        let finished = run(Command::new("sh").args(["-c", &script])).unwrap();
        assert_eq!(finished.output.status.code(), Some(3));
        assert_eq!(finished.output.stdout, b"out\n");
        assert_eq!(finished.output.stderr, b"err\n");
        assert!(finished.cpu > Duration::ZERO, "{finished:?}");
        let waited = Duration::from_millis(250);
        assert!(finished.wall > finished.cpu + waited, "{finished:?}");
    }
}
