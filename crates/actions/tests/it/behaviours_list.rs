//! What an agent does on the wire and on its node, by number: [`BEHAVIOURS`].
//!
//! Each was seen on a real pxp-agent. The tests carry the numbers in their first line
//! (`/// A17`), so that the tests of a behaviour are found by its number, and this file says
//! which has none. Where the agent does otherwise on purpose, the test is of what it does, and
//! `docs/agent.md` says how the two differ.

use std::collections::BTreeSet;
use std::path::Path;

const BEHAVIOURS: [&str; 79] = [
    /* A1 */ "fields of the association",
    /* A2 */ "the type is added to the broker's path",
    /* A3 */ "ping",
    /* A4 */ "echo",
    /* A5 */ "error: no data",
    /* A6 */ "error: invalid data",
    /* A7 */ "error: unknown module",
    /* A8 */ "error: unknown action",
    /* A9 */ "error: only blocking requests",
    /* A10 */ "error: invalid input",
    /* A11 */ "error: cannot be carried out",
    /* A12 */ "error: output that is no text",
    /* A13 */ "error: a result beyond the largest message",
    /* A14 */ "silence on an unknown type",
    /* A15 */ "silence on garbage",
    /* A16 */ "silence on a message without a sender",
    /* A17 */ "alive after all of these",
    /* A18 */ "a blocking command",
    /* A19 */ "a non-blocking command",
    /* A20 */ "the provisional response, then the outcome",
    /* A21 */ "shapes of a status",
    /* A22 */ "content and modes of the spool",
    /* A23 */ "a transaction id that comes twice",
    /* A24 */ "exit code 0",
    /* A25 */ "exit code 1",
    /* A26 */ "exit code 2",
    /* A27 */ "exit code 126",
    /* A28 */ "exit code 127",
    /* A29 */ "exit code 128",
    /* A30 */ "exit code 200",
    /* A31 */ "exit code 255",
    /* A32 */ "death by a signal",
    /* A33 */ "text beyond ASCII",
    /* A34 */ "stdout that is not UTF-8",
    /* A35 */ "NUL on stdout",
    /* A36 */ "stderr that is not UTF-8",
    /* A37 */ "NUL on stderr",
    /* A38 */ "the status of an action with such output",
    /* A39 */ "blanks around the output",
    /* A40 */ "no output",
    /* A41 */ "environment, directory and group of the process",
    /* A42 */ "a background process that holds stdout",
    /* A43 */ "other requests while a blocking action runs",
    /* A44 */ "input method stdin",
    /* A45 */ "input method environment",
    /* A46 */ "input method both",
    /* A47 */ "no input method",
    /* A48 */ "input method powershell",
    /* A49 */ "an unknown input method",
    /* A50 */ "features and input method beside the metadata",
    /* A51 */ "layout, modes and hits of the cache",
    /* A52 */ "a file with another digest",
    /* A53 */ "a digest in capitals",
    /* A54 */ "a file that is not there",
    /* A55 */ "files of a blocking multi-file task",
    /* A56 */ "files of a non-blocking multi-file task",
    /* A57 */ "no implementation fits",
    /* A58 */ "an implementation that needs more features",
    /* A59 */ "a blocking task that does not read a large input",
    /* A60 */ "a non-blocking task that does not read a large input",
    /* A61 */ "arguments of scripts",
    /* A62 */ "kinds of files",
    /* A63 */ "traces of blocking actions",
    /* A64 */ "names that lead elsewhere",
    /* A65 */ "70 MB of output",
    /* A66 */ "a request of 33 MB",
    /* A67 */ "back after close code 1000",
    /* A68 */ "back after close code 1011",
    /* A69 */ "back after close code 4002",
    /* A70 */ "back after an abrupt end",
    /* A71 */ "an action goes on over a restart of the agent",
    /* A72 */ "its status afterwards, running and ended",
    /* A73 */ "its promised outcome",
    /* A74 */ "its request, once more",
    /* A75 */ "waits between attempts",
    /* A76 */ "a refused PCP 1 association",
    /* A77 */ "a PCP 1 association without an answer",
    /* A78 */ "a denied PCP 2 association, again and again",
    /* A79 */ "two agents with one certificate",
];

/// The numbers in the comment of a test, `/// A1, A2: more`.
fn numbers(line: &str) -> Vec<usize> {
    let Some(text) = line.trim_start().strip_prefix("/// A") else {
        return Vec::new();
    };
    let list = text.split(':').next().unwrap();
    let numbers = list.split(", A").map(str::parse);
    numbers.collect::<Result<_, _>>().unwrap_or_default()
}

fn collect(place: &Path, found: &mut BTreeSet<usize>) {
    if place.is_dir() {
        for inner in std::fs::read_dir(place).unwrap() {
            collect(&inner.unwrap().path(), found);
        }
    } else if place.extension().is_some_and(|extension| extension == "rs") {
        let text = std::fs::read_to_string(place).unwrap();
        found.extend(text.lines().flat_map(numbers));
    }
}

#[test]
fn every_behaviour_has_a_test() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for place in ["tests", "src", "../agent/tests", "../agent/src"] {
        collect(&here.join(place), &mut found);
    }
    let known: BTreeSet<usize> = (1..=BEHAVIOURS.len()).collect();
    let untested: Vec<_> = known
        .difference(&found)
        .map(|number| format!("A{number}: {}", BEHAVIOURS[number - 1]))
        .collect();
    assert_eq!(untested, Vec::<String>::new());
    let unknown: Vec<_> = found.difference(&known).collect();
    assert_eq!(unknown, Vec::<&usize>::new(), "not in the list");
}

#[test]
fn only_the_numbers_of_a_comment_count() {
    assert_eq!(numbers("    /// A1, A23: with words, A4"), [1, 23]);
    for other in ["/// And so on", "// A1", "/// A1 B", "/// A", ""] {
        assert_eq!(numbers(other), Vec::<usize>::new(), "{other}");
    }
}
