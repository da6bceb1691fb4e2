//! `cargo xtask words`: the rules of names and prose that a program can check. Main function:
//! [`run`].
//!
//! Invariant: each finding names its file and line.

mod findings;
mod rust_source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use self::findings::Findings;
use self::rust_source::RustSource;
use crate::run;

/// Comment lines of 1,000 that may open with a question word. Model code bases have 1 to 9.
const QUESTION_OPENINGS_PER_1000: usize = 15;

/// Names that public types of several crates may share, because each reader of Rust expects them
/// there. The API's types `CodeVersion` and `PlanName` keep their names too.
const SHARED_TYPE_NAMES: &[&str] = &[
    "Builder",
    "CodeVersion",
    "Config",
    "Error",
    "Handle",
    "PlanName",
    "Result",
    "Settings",
    "Value",
];

/// Options of `cargo xtask words`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Only this crate
    #[arg(long = "crate", value_name = "NAME")]
    only: Option<String>,
    /// Print for each crate the number of its findings
    #[arg(long)]
    figures: bool,
}

/// A directory with sources or documents that belong together.
struct Part {
    name: String,
    files: Vec<PathBuf>,
}

/// Fails with the list of all findings.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut count = 0;
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for part in parts()? {
        if options.only.as_ref().is_some_and(|only| *only != part.name) {
            continue;
        }
        let findings = examine(&part, &mut types)?;
        if options.figures {
            println!("{:24} {}", part.name, findings.figures());
        }
        if options.only.is_some() || !options.figures {
            count += findings.print();
        }
    }
    count += print_shared(&types);
    if count > 0 {
        bail!("{count} findings; the rules are in CONTRIBUTING.md, \"Names and prose\"");
    }
    println!("words: names and prose are plain");
    Ok(())
}

fn examine(part: &Part, types: &mut BTreeMap<String, BTreeSet<String>>) -> Result<Findings> {
    let mut findings = Findings::default();
    for file in &part.files {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let shown = file.strip_prefix(run::root()).unwrap_or(file);
        if file.extension().is_some_and(|extension| extension == "md") {
            findings.examine_prose(shown, &text);
            continue;
        }
        let source = RustSource::read(&text);
        findings.examine(shown, &source);
        for name in source.public_types() {
            types
                .entry(name.to_owned())
                .or_default()
                .insert(part.name.clone());
        }
    }
    findings.limit_question_openings(QUESTION_OPENINGS_PER_1000);
    Ok(findings)
}

/// Prints the public type names that several crates have; returns their number.
fn print_shared(types: &BTreeMap<String, BTreeSet<String>>) -> usize {
    let mut count = 0;
    for (name, crates) in types {
        if crates.len() > 1 && !SHARED_TYPE_NAMES.contains(&name.as_str()) {
            let crates: Vec<_> = crates.iter().map(String::as_str).collect();
            println!("{name}: a public type in {}", crates.join(", "));
            count += 1;
        }
    }
    count
}

/// The sources of each crate without its tests, and the documents.
fn parts() -> Result<Vec<Part>> {
    let root = run::root();
    let mut parts = Vec::new();
    for area in [
        "base", "language", "wire", "code", "node", "service", "faces",
    ] {
        for directory in entries(&root.join("crates").join(area))? {
            parts.push(crate_part(&directory)?);
        }
    }
    for directory in entries(&root.join("bin"))? {
        parts.push(crate_part(&directory)?);
    }
    parts.push(crate_part(&root.join("xtask"))?);
    let mut files: Vec<PathBuf> = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        .iter()
        .map(|name| root.join(name))
        .collect();
    collect(&root.join("docs"), "md", &mut files)?;
    parts.push(Part {
        name: "docs".to_owned(),
        files,
    });
    Ok(parts)
}

fn crate_part(directory: &Path) -> Result<Part> {
    let name = directory
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut files = Vec::new();
    collect(&directory.join("src"), "rs", &mut files)?;
    Ok(Part { name, files })
}

/// The files below `directory` with this extension, without those of tests.
fn collect(directory: &Path, extension: &str, files: &mut Vec<PathBuf>) -> Result<()> {
    for path in entries(directory)? {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            if name != "tests" {
                collect(&path, extension, files)?;
            }
        } else if path.extension().is_some_and(|own| own == extension) && name != "tests.rs" {
            files.push(path);
        }
    }
    Ok(())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let listed = std::fs::read_dir(directory)
        .with_context(|| format!("cannot list {}", directory.display()))?;
    let mut paths = Vec::new();
    for entry in listed {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}
