//! Recorded answers of Puppet 8, for comparisons without Ruby: [`CatalogRecording`].
//!
//! Invariant: a recording has the cases of its file in their order; each one that Puppet 7 answers
//! otherwise has the differences.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::{CatalogAnswer, CatalogCase, ask_cases, compare_answers};
use crate::Puppet;

/// Levels of a recording that take a line for each member; deeper ones stand in one line.
const OPEN_LEVELS: usize = 4;

/// The answers to the cases of one file.
#[derive(Debug, PartialEq)]
pub struct CatalogRecording {
    pub cases: Vec<RecordedCase>,
}

/// The answer to a case.
#[derive(Debug, PartialEq)]
pub struct RecordedCase {
    pub title: String,
    pub answer: CatalogAnswer,
    /// Differences between Puppet 7 and 8, where 7 is "ours"; none if they agree.
    pub puppet_7: Vec<String>,
}

impl CatalogRecording {
    /// Asks Puppet 8 and Puppet 7.
    pub fn ask(cases: &[CatalogCase]) -> Result<Self> {
        let eight = ask_cases(Puppet::Eight, cases)?;
        let seven = ask_cases(Puppet::Seven, cases)?;
        let pairs = cases.iter().zip(eight.into_iter().zip(&seven));
        let recorded = pairs.map(|(case, (eight, seven))| RecordedCase {
            title: case.title.clone(),
            puppet_7: differences(seven, &eight),
            answer: eight,
        });
        Ok(Self {
            cases: recorded.collect(),
        })
    }

    /// Reads the recording of the cases of a file.
    pub fn read(name: &str, cases: &[CatalogCase]) -> Result<Self> {
        let path = path(name);
        let text = std::fs::read_to_string(&path).with_context(|| {
            format!(
                "cannot read {}; run `cargo run -p oracles --example record_catalogs`",
                path.display()
            )
        })?;
        let all: Vec<Value> = serde_json::from_str(&text)?;
        let recording = Self {
            cases: all.iter().map(read_case).collect(),
        };
        let titles: Vec<&str> = recording.cases.iter().map(|it| it.title.as_str()).collect();
        if titles != cases.iter().map(|it| it.title.as_str()).collect::<Vec<_>>() {
            bail!(
                "{name}.json has other cases; run `cargo run -p oracles --example record_catalogs`"
            );
        }
        Ok(recording)
    }

    /// Writes the recording of the cases of a file.
    pub fn write(&self, name: &str) -> Result<()> {
        let path = path(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let cases = Value::Array(self.cases.iter().map(write_case).collect());
        let mut text = String::new();
        print(&cases, 0, &mut text)?;
        text.push('\n');
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

fn path(name: &str) -> PathBuf {
    crate::own("recorded/catalogs").join(format!("{name}.json"))
}

fn differences(ours: &CatalogAnswer, theirs: &CatalogAnswer) -> Vec<String> {
    let found = compare_answers(ours, theirs);
    found.iter().map(ToString::to_string).collect()
}

fn read_case(case: &Value) -> RecordedCase {
    let lines = case["puppet_7"].as_array().into_iter().flatten();
    RecordedCase {
        title: case["title"].as_str().unwrap_or_default().to_owned(),
        answer: CatalogAnswer::from_json(case),
        puppet_7: lines.filter_map(Value::as_str).map(str::to_owned).collect(),
    }
}

fn write_case(case: &RecordedCase) -> Value {
    let mut written = json!({ "title": case.title });
    if let (Value::Object(written), Value::Object(answer)) = (&mut written, case.answer.to_json()) {
        written.extend(answer);
    }
    if !case.puppet_7.is_empty() {
        written["puppet_7"] = json!(case.puppet_7);
    }
    written
}

/// Prints a value so that a resource, an edge and a message take a line each.
fn print(value: &Value, level: usize, out: &mut String) -> Result<()> {
    let indent = " ".repeat(level + 1);
    match value {
        Value::Array(list) if level < OPEN_LEVELS && !list.is_empty() => {
            out.push('[');
            for (index, member) in list.iter().enumerate() {
                write!(out, "{}\n{indent}", if index > 0 { "," } else { "" })?;
                print(member, level + 1, out)?;
            }
            write!(out, "\n{}]", " ".repeat(level))?;
        }
        Value::Object(map) if level < OPEN_LEVELS && !map.is_empty() => {
            out.push('{');
            for (index, (key, member)) in map.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                write!(out, "{comma}\n{indent}{}: ", serde_json::to_string(key)?)?;
                print(member, level + 1, out)?;
            }
            write!(out, "\n{}}}", " ".repeat(level))?;
        }
        other => out.push_str(&serde_json::to_string(other)?),
    }
    Ok(())
}
