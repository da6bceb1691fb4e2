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
    ProgramTime, TestTime, print_slowest_programs, print_slowest_tests, times_of_tests,
    wall_and_cpu,
};

/// The package whose programs start real peers. They wait for a part of their time, so one of them runs beside the others.
const PACKAGE_WITH_PEERS: &str = "conformance ";

/// Programs that run at the same time, each with two tests at a time. With three, two of them with peers, all took 1,768 s and
/// used 84 % of two cores, but tests failed that give another process a second to answer, as a user's machine would.
const LANES: usize = 2;

/// Largest number of these that have peers.
const LANES_WITH_PEERS: usize = 1;

/// The programs that take longest. They are started first, so that none of them runs alone in the end.
const LONGEST: [&str; 4] = [
    "conformance puppet",
    "conformance agents",
    "tutti it",
    "oracles it",
];

const NO_PANIC: &str = "no lane panics";

/// The programs that are still to run, and the outcomes of the others.
#[derive(Debug)]
struct TestRun {
    with_peers: Mutex<VecDeque<TestExecutable>>,
    others: Mutex<VecDeque<TestExecutable>>,
    /// Number of simulated power cuts for each workload; `None` leaves it to the tests.
    power_cuts: Option<&'static str>,
    outcomes: Mutex<Outcomes>,
}

#[derive(Debug, Default)]
struct Outcomes {
    tests: Vec<TestTime>,
    programs: Vec<ProgramTime>,
    /// Names of the programs that failed.
    failed: Vec<String>,
}

/// Runs the programs in [`LANES`], those that take longest first; fails if one failed. `power_cuts` is the number of simulated
/// power cuts for each workload; `None` leaves it to the tests.
pub(super) fn run_all(
    mut executables: Vec<TestExecutable>,
    power_cuts: Option<&'static str>,
) -> Result<()> {
    executables.sort_by_cached_key(|executable| Reverse(expected_time(executable)));
    let has_peers = |executable: &TestExecutable| executable.name.starts_with(PACKAGE_WITH_PEERS);
    let (with_peers, others): (VecDeque<_>, VecDeque<_>) =
        executables.into_iter().partition(has_peers);
    let run = TestRun {
        with_peers: Mutex::new(with_peers),
        others: Mutex::new(others),
        power_cuts,
        outcomes: Mutex::default(),
    };
    thread::scope(|scope| {
        let run = &run;
        let start = |index| scope.spawn(move || run.lane(index < LANES_WITH_PEERS));
        let running: Vec<_> = (0..LANES).map(start).collect();
        let ended = running.into_iter().map(|it| it.join().expect(NO_PANIC));
        // all of them, because a lane goes on when another has failed
        ended.fold(Ok(()), Result::and)
    })?;
    let outcomes = run.outcomes.into_inner().expect(NO_PANIC);
    print_slowest_tests(outcomes.tests);
    print_slowest_programs(outcomes.programs);
    if !outcomes.failed.is_empty() {
        bail!("tests failed in: {}", outcomes.failed.join(", "));
    }
    Ok(())
}

// === impl TestRun ===

impl TestRun {
    /// Runs one program after the other, those with peers first if the lane may have them.
    fn lane(&self, may_have_peers: bool) -> Result<()> {
        while let Some(executable) = self.next(may_have_peers) {
            // A program that does not end prints nothing else.
            println!("     Started {}", executable.name);
            let mut command = executable.command();
            command.envs(self.power_cuts.map(|count| ("TUTTI_POWER_CUTS", count)));
            let finished = cpu_time::run(&mut command)
                .with_context(|| format!("cannot run {}", executable.path.display()))?;
            print(&executable, &finished)?;
            let mut outcomes = self.outcomes.lock().expect(NO_PANIC);
            outcomes.add(executable.name, &finished);
        }
        Ok(())
    }

    fn next(&self, may_have_peers: bool) -> Option<TestExecutable> {
        let take = |from: &Mutex<VecDeque<_>>| from.lock().expect(NO_PANIC).pop_front();
        let with_peers = may_have_peers.then(|| take(&self.with_peers)).flatten();
        with_peers.or_else(|| take(&self.others))
    }
}

// === impl Outcomes ===

impl Outcomes {
    fn add(&mut self, name: String, finished: &Finished) {
        let text = String::from_utf8_lossy(&finished.output.stdout);
        self.tests.extend(times_of_tests(&name, &text));
        if !finished.output.status.success() {
            self.failed.push(name.clone());
        }
        self.programs.push(ProgramTime {
            name,
            wall: finished.wall,
            cpu: finished.cpu,
        });
    }
}

/// A key that orders programs by the time that they take: the longest ones are known; of the others, those that link more
/// of the product take longer, so their size in bytes is compared. The last to be started should be short, so that all
/// lanes end at about the same time.
fn expected_time(executable: &TestExecutable) -> (bool, u64) {
    let is_longest = LONGEST.contains(&executable.name.as_str());
    let size = std::fs::metadata(&executable.path).map_or(0, |found| found.len());
    (is_longest, size)
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::PathBuf;

    use super::*;

    fn executable(name: &str) -> TestExecutable {
        TestExecutable {
            name: name.to_owned(),
            package: String::new(),
            path: PathBuf::new(),
            directory: PathBuf::new(),
        }
    }

    #[test]
    fn programs_with_peers_are_taken_first_and_only_by_lanes_that_may_have_them() {
        let queue =
            |names: &[&str]| Mutex::new(names.iter().map(|name| executable(name)).collect());
        let run = TestRun {
            with_peers: queue(&["conformance a", "conformance b"]),
            others: queue(&["c it", "d it", "e it"]),
            power_cuts: None,
            outcomes: Mutex::default(),
        };
        let taken = [false, true, true, true, false, true]
            .map(|may_have_peers| run.next(may_have_peers).map(|it| it.name));
        let taken = taken
            .each_ref()
            .map(|name| name.as_deref().unwrap_or("none"));
        let expected = [
            "c it",
            "conformance a",
            "conformance b",
            "d it",
            "e it",
            "none",
        ];
        assert_eq!(taken, expected);
    }

    #[test]
    fn the_longest_programs_exist() {
        let metadata = cargo_metadata::MetadataCommand::new()
            .current_dir(crate::run::root())
            .no_deps()
            .exec()
            .unwrap();
        let mut programs = HashSet::new();
        for package in metadata.packages {
            let folder = package.manifest_path.parent().unwrap().file_name().unwrap();
            for target in package.targets {
                programs.insert(format!("{folder} {}", target.name));
            }
        }
        for name in LONGEST {
            assert!(programs.contains(name), "{name}");
        }
    }
}
