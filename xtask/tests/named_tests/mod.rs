//! Checks that the tests that a page names as `crate/test` exist: [`missing`].
//!
//! Invariant: a name counts only in a line of a table whose first cell begins with one of the given
//! letters and a number, so that prose may mention paths.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A line of a table: its number, such as `A17`, and the tests that it names.
pub(crate) struct Line<'a> {
    pub(crate) number: &'a str,
    pub(crate) tests: Vec<(&'a str, &'a str)>,
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The lines whose numbers begin with one of these letters.
pub(crate) fn lines<'a>(page: &'a str, letters: &str) -> Vec<Line<'a>> {
    let line = |text: &'a str| {
        let number = text.strip_prefix("| ")?.split(' ').next()?;
        let digits = number.strip_prefix(|letter| letters.contains(letter))?;
        digits.parse::<u32>().ok()?;
        let tests = text.split('`').skip(1).step_by(2);
        let tests = tests
            .filter_map(|quoted| quoted.split_once('/'))
            .filter(|(package, test)| is_name(package) && is_name(test))
            .collect();
        Some(Line { number, tests })
    };
    page.lines().filter_map(line).collect()
}

fn is_name(text: &str) -> bool {
    let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    !text.is_empty() && text.chars().all(of_name)
}

/// The named tests that no source of their crate contains.
pub(crate) fn missing<'a>(lines: &[Line<'a>]) -> Vec<String> {
    let root = root();
    let mut sources: HashMap<&'a str, String> = HashMap::new();
    let mut missing = Vec::new();
    for (package, test) in lines.iter().flat_map(|line| &line.tests) {
        let text = sources
            .entry(package)
            .or_insert_with(|| sources_of(&root, package));
        if !text.contains(&format!("fn {test}(")) {
            missing.push(format!("{package}/{test}"));
        }
    }
    missing
}

/// The sources of a crate, in any directory; empty if there is no such crate.
pub(crate) fn sources_of(root: &Path, package: &str) -> String {
    let areas = fs::read_dir(root.join("crates")).unwrap();
    let mut areas = areas
        .map(|area| area.unwrap().path())
        .chain(["bin", "tests", ""].map(|area| root.join(area)));
    let mut left: Vec<PathBuf> = areas
        .find_map(|area| {
            let directory = area.join(package);
            directory.join("Cargo.toml").is_file().then_some(directory)
        })
        .into_iter()
        .collect();
    let mut text = String::new();
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    text
}
