//! `docs/security.md` names tests as `crate/test`. A test that was renamed or removed must not go on
//! promising something there.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

/// The sources of a crate, wherever its directory is.
fn sources_of(root: &Path, package: &str) -> Option<String> {
    let directory = ["crates", "bin", "tests", ""]
        .iter()
        .map(|area| root.join(area).join(package))
        .find(|directory| directory.join("Cargo.toml").is_file())?;
    let mut text = String::new();
    let mut left = vec![directory];
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
    Some(text)
}

/// Crate and name of each test of the page.
fn named_tests(page: &str) -> Vec<(&str, &str)> {
    let is_name = |text: &str| {
        let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
        !text.is_empty() && text.chars().all(of_name)
    };
    page.lines()
        .filter(|line| line.starts_with("| A"))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter_map(|quoted| quoted.split_once('/'))
        .filter(|(package, test)| is_name(package) && is_name(test))
        .collect()
}

#[test]
fn every_test_that_the_security_page_names_is_there() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/security.md")).unwrap();
    let tests = named_tests(&page);
    assert!(tests.len() > 50, "only {} tests were read", tests.len());
    let missing: Vec<_> = tests
        .iter()
        .filter(|(package, test)| {
            !sources_of(&root, package)
                .is_some_and(|sources| sources.contains(&format!("fn {test}(")))
        })
        .collect();
    assert!(missing.is_empty(), "not found: {missing:?}");
}

#[test]
fn every_attack_class_has_a_line() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/security.md")).unwrap();
    for number in 1..=22 {
        let start = format!("| A{number} ");
        assert!(
            page.lines().any(|line| line.starts_with(&start)),
            "A{number}"
        );
    }
}
