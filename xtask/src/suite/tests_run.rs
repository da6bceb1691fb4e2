//! Running test programs: [`run_all`], and the slowest tests.
//!
//! Invariant: every program runs to its end, so one run reports everything that is broken, and its
//! output is printed as a whole.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io::Write as _;
use std::process::Output;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::executables::TestExecutable;

/// Number of the slowest tests, and of the slowest programs, that are printed with their times.
const SLOWEST_SHOWN: usize = 20;

/// A test or a program with tests, and its duration.
#[derive(Debug, PartialEq)]
struct Timed {
    name: String,
    seconds: f64,
}

/// The package whose programs share real peers, so that only one of them runs at a time. They mostly wait, and so
/// leave a core to the others.
const WAITING_PACKAGE: &str = "conformance ";

/// Runs two programs at a time, the largest first, of those of the package that waits only one, and fails if one failed.
/// `power_cuts` is the number of simulated power cuts for each workload; `None` leaves it to the tests.
pub(super) fn run_all(executables: Vec<TestExecutable>, power_cuts: Option<&str>) -> Result<()> {
    let timed = Mutex::new(Vec::new());
    let programs = Mutex::new(Vec::new());
    let failed = Mutex::new(Vec::new());
    let waits = |executable: &TestExecutable| executable.name.starts_with(WAITING_PACKAGE);
    let (waiting, mut others): (Vec<_>, Vec<_>) = executables.into_iter().partition(waits);
    others.sort_by_cached_key(|executable| Reverse(size(executable)));
    let others = Mutex::new(VecDeque::from(others));
    let take = || others.lock().expect("no lane panics").pop_front();
    let lane = |mut first: VecDeque<TestExecutable>| -> Result<()> {
        while let Some(executable) = first.pop_front().or_else(take) {
            let started = Instant::now();
            // A program that does not end prints nothing else.
            println!("     Started {}", executable.name);
            let output = executable
                .command()
                .envs(power_cuts.map(|count| ("TUTTI_POWER_CUTS", count)))
                .output()
                .with_context(|| format!("cannot run {}", executable.path.display()))?;
            print(&executable, &output, started)?;
            let text = String::from_utf8_lossy(&output.stdout);
            let mut timed = timed.lock().expect("no lane panics");
            timed.extend(timed_tests(&executable.name, &text));
            programs.lock().expect("no lane panics").push(Timed {
                name: executable.name.clone(),
                seconds: started.elapsed().as_secs_f64(),
            });
            if !output.status.success() {
                let mut failed = failed.lock().expect("no lane panics");
                failed.push(executable.name);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let beside = scope.spawn(|| lane(VecDeque::from(waiting)));
        let outcome = lane(VecDeque::new());
        outcome.and(beside.join().expect("no lane panics"))
    })?;
    print_slowest("tests", timed.into_inner().expect("no lane panics"));
    print_slowest("programs", programs.into_inner().expect("no lane panics"));
    let failed = failed.into_inner().expect("no lane panics");
    if !failed.is_empty() {
        bail!("tests failed in: {}", failed.join(", "));
    }
    Ok(())
}

/// The size of a program, in bytes. Programs that link more of the product take longer, and the last to be started should
/// be short, so that both lanes end at about the same time.
fn size(executable: &TestExecutable) -> u64 {
    std::fs::metadata(&executable.path).map_or(0, |found| found.len())
}

/// Prints the output of a program in one piece.
fn print(executable: &TestExecutable, output: &Output, started: Instant) -> Result<()> {
    let mut terminal = std::io::stdout().lock();
    let seconds = started.elapsed().as_secs_f64();
    writeln!(
        terminal,
        "     Running {} ({seconds:.1} s)",
        executable.name
    )?;
    terminal.write_all(&output.stdout)?;
    terminal.write_all(&output.stderr)?;
    terminal.flush()?;
    Ok(())
}

/// Reads lines such as `test queue::is_bounded ... ok <0.123s>`.
fn timed_tests(program: &str, output: &str) -> Vec<Timed> {
    let read = |line: &str| {
        let (test, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
        let (_, time) = rest.split_once('<')?;
        let seconds = time.split_once("s>")?.0.parse().ok()?;
        Some(Timed {
            name: format!("{program}: {test}"),
            seconds,
        })
    };
    output.lines().filter_map(read).collect()
}

fn print_slowest(of: &str, mut timed: Vec<Timed>) {
    timed.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    println!("the slowest of {} {of}:", timed.len());
    for slow in timed.iter().take(SLOWEST_SHOWN) {
        println!("{:8.1} s  {}", slow.seconds, slow.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_the_lines_of_tests() {
        let output = "running 3 tests\ntest a::b ... ok <0.250s>\ntest c ... FAILED <12.000s>\n\
                      test d ... ignored\n\ntest result: ok. 2 passed\n";
        let expected = [("jobs it: a::b", 0.25), ("jobs it: c", 12.0)];
        let read = timed_tests("jobs it", output);
        let read: Vec<_> = read.iter().map(|t| (t.name.as_str(), t.seconds)).collect();
        assert_eq!(read, expected);
    }
}
