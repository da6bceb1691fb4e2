//! Times of tests and of programs with tests: [`TestTime`] and [`ProgramTime`].

use std::time::Duration;

use super::cpu_time::utilisation;

/// Number of the slowest tests, and of the slowest programs, that are printed with their times.
const SLOWEST_SHOWN: usize = 20;

/// Duration of a test.
#[derive(Debug, PartialEq)]
pub(super) struct TestTime {
    pub name: String,
    pub seconds: f64,
}

/// Duration of a program, and its CPU time: the rest of a core's time it has waited.
#[derive(Debug)]
pub(super) struct ProgramTime {
    pub name: String,
    pub wall: Duration,
    pub cpu: Duration,
}

/// Reads lines such as `test queue::is_bounded ... ok <0.123s>`.
pub(super) fn times_of_tests(program: &str, output: &str) -> Vec<TestTime> {
    let read = |line: &str| {
        let (test, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
        let (_, time) = rest.split_once('<')?;
        let seconds = time.split_once("s>")?.0.parse().ok()?;
        Some(TestTime {
            name: format!("{program}: {test}"),
            seconds,
        })
    };
    output.lines().filter_map(read).collect()
}

pub(super) fn print_slowest_tests(mut tests: Vec<TestTime>) {
    tests.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    println!("the slowest of {} tests:", tests.len());
    for slow in tests.iter().take(SLOWEST_SHOWN) {
        println!("{:8.1} s  {}", slow.seconds, slow.name);
    }
}

pub(super) fn print_slowest_programs(mut programs: Vec<ProgramTime>) {
    programs.sort_by_key(|program| std::cmp::Reverse(program.wall));
    println!("the slowest of {} programs:", programs.len());
    for slow in programs.iter().take(SLOWEST_SHOWN) {
        println!("{}  {}", wall_and_cpu(slow.wall, slow.cpu), slow.name);
    }
    let cpu: Duration = programs.iter().map(|program| program.cpu).sum();
    println!("{:8.1} s CPU of all programs", cpu.as_secs_f64());
}

/// Columns of a line: wall time, CPU time, and the share of the machine's cores that this is.
pub(super) fn wall_and_cpu(wall: Duration, cpu: Duration) -> String {
    format!(
        "{:8.1} s {:8.1} s CPU {:3.0} %",
        wall.as_secs_f64(),
        cpu.as_secs_f64(),
        100.0 * utilisation(cpu, wall),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_the_lines_of_tests() {
        let output = "running 3 tests\ntest a::b ... ok <0.250s>\ntest c ... FAILED <12.000s>\n\
                      test d ... ignored\n\ntest result: ok. 2 passed\n";
        let expected = [("jobs it: a::b", 0.25), ("jobs it: c", 12.0)];
        let read = times_of_tests("jobs it", output);
        let read: Vec<_> = read.iter().map(|t| (t.name.as_str(), t.seconds)).collect();
        assert_eq!(read, expected);
    }
}
