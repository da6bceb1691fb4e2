//! Test that the source files that ARCHITECTURE.md, the decisions and the glossary name exist.

#![expect(
    clippy::unwrap_used,
    reason = "in tests a panic is the report; clippy excuses only test functions"
)]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn documents() -> Vec<PathBuf> {
    let decisions = fs::read_dir(root().join("docs/decisions")).unwrap();
    let decisions = decisions.map(|entry| entry.unwrap().path());
    ["ARCHITECTURE.md", "docs/glossary.md"]
        .iter()
        .map(|name| root().join(name))
        .chain(decisions)
        .collect()
}

/// Texts in backquotes that look like paths of sources, such as `jobs/src/prepare.rs`.
fn paths(document: &str) -> Vec<&str> {
    let quoted = document.split('`').skip(1).step_by(2);
    quoted
        .filter(|text| text.contains("/src") && !text.contains(['<', '*', ' ', '{']))
        .collect()
}

/// True if a path exists, relative to the root or to the directory of its crate.
fn exists(path: &str) -> bool {
    let areas = fs::read_dir(root().join("crates")).unwrap();
    let areas = areas.map(|entry| entry.unwrap().path());
    areas
        .chain(["", "bin", "tests"].map(|folder| root().join(folder)))
        .any(|folder: PathBuf| Path::exists(&folder.join(path)))
}

#[test]
fn every_source_that_a_document_names_is_there() {
    let mut missing = Vec::new();
    let mut named = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for path in paths(&text) {
            named += 1;
            if !exists(path) {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(named > 50, "only {named} paths were found");
    assert!(missing.is_empty(), "not found:\n{}", missing.join("\n"));
}
