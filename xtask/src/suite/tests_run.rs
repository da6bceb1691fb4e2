//! Running test programs: [`run_all`], with the times of each.
//!
//! Invariant: every program runs to its end, so one run reports everything that is broken, and its
//! output is printed as a whole.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, bail};

use super::cpu_time::{self, Finished};
use super::executables::TestExecutable;
use super::times::{
    ProgramTime, print_slowest_programs, print_slowest_tests, times_of_tests, wall_and_cpu,
};

/// The package whose programs share real peers, so that only one of them runs at a time. They mostly wait, and so
/// leave a core to the others.
const WAITING_PACKAGE: &str = "conformance ";

/// Runs two programs at a time, the largest first, of those of the package that waits only one, and fails if one failed.
/// `power_cuts` is the number of simulated power cuts for each workload; `None` leaves it to the tests.
pub(super) fn run_all(executables: Vec<TestExecutable>, power_cuts: Option<&str>) -> Result<()> {
    let tests = Mutex::new(Vec::new());
    let programs = Mutex::new(Vec::new());
    let failed = Mutex::new(Vec::new());
    let waits = |executable: &TestExecutable| executable.name.starts_with(WAITING_PACKAGE);
    let (waiting, mut others): (Vec<_>, Vec<_>) = executables.into_iter().partition(waits);
    others.sort_by_cached_key(|executable| Reverse(size(executable)));
    let others = Mutex::new(VecDeque::from(others));
    let take = || others.lock().expect("no lane panics").pop_front();
    let lane = |mut first: VecDeque<TestExecutable>| -> Result<()> {
        while let Some(executable) = first.pop_front().or_else(take) {
            // A program that does not end prints nothing else.
            println!("     Started {}", executable.name);
            let mut command = executable.command();
            command.envs(power_cuts.map(|count| ("TUTTI_POWER_CUTS", count)));
            let finished = cpu_time::run(&mut command)
                .with_context(|| format!("cannot run {}", executable.path.display()))?;
            print(&executable, &finished)?;
            let text = String::from_utf8_lossy(&finished.output.stdout);
            let mut tests = tests.lock().expect("no lane panics");
            tests.extend(times_of_tests(&executable.name, &text));
            programs.lock().expect("no lane panics").push(ProgramTime {
                name: executable.name.clone(),
                wall: finished.wall,
                cpu: finished.cpu,
            });
            if !finished.output.status.success() {
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
    print_slowest_tests(tests.into_inner().expect("no lane panics"));
    print_slowest_programs(programs.into_inner().expect("no lane panics"));
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
fn print(executable: &TestExecutable, finished: &Finished) -> Result<()> {
    let mut terminal = std::io::stdout().lock();
    let times = wall_and_cpu(finished.wall, finished.cpu);
    writeln!(
        terminal,
        "     Running {} ({})",
        executable.name,
        times.trim()
    )?;
    terminal.write_all(&finished.output.stdout)?;
    terminal.write_all(&finished.output.stderr)?;
    terminal.flush()?;
    Ok(())
}
