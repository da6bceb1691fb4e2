//! Plans whose results were recorded from the real Bolt, in `tests/bolt`: their values, errors and
//! messages must be the same here.
//!
//! `differences.txt` lists the differences with their reasons. A listed case that is equal fails
//! too, so the list stays true; `docs/plans.md` explains the reasons to users.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::World;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bolt")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(directory().join(name)).unwrap()
}

/// Returns the files of the module: those in the directory, and a plan for each case.
fn files(cases: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    below(&directory().join("modules"), "", &mut files);
    for case in cases.split("\n=== ").skip(1) {
        let (head, body) = case.split_once('\n').unwrap();
        files.push(match head.split_once(' ') {
            Some((name, language)) => (
                format!("cases/plans/{name}.{language}"),
                format!("{body}\n"),
            ),
            None => {
                let plan = format!("plan cases::{head}() {{\n{body}\n}}\n");
                (format!("cases/plans/{head}.pp"), plan)
            }
        });
    }
    files
}

fn below(directory: &Path, prefix: &str, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => below(&entry.path(), &format!("{name}/"), files),
            false => files.push((name, std::fs::read_to_string(entry.path()).unwrap())),
        }
    }
}

/// Replaces the directories of this machine.
fn plain(value: &mut Value) {
    match value {
        Value::String(text) => {
            while let Some(at) = text.find("/modules/cases/") {
                let start = text[..at]
                    .rfind([' ', '(', '"'])
                    .map_or(0, |before| before + 1);
                text.replace_range(start..=at, "");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(entries) => entries.values_mut().for_each(plain),
        _ => {}
    }
}

/// The degree of a difference from Bolt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    /// Only the text of the message, or other parts of the details, differ.
    Words,
    /// The kind of the error.
    Kind,
    /// Status, value or events differ.
    All,
}

fn difference(ours: &Value, bolts: &Value) -> Option<Difference> {
    let failed = ours["status"] == "failure";
    match () {
        () if ours == bolts => None,
        () if ours["status"] != bolts["status"] || !failed || ours["events"] != bolts["events"] => {
            Some(Difference::All)
        }
        () if ours["value"]["kind"] != bolts["value"]["kind"] => Some(Difference::Kind),
        () => Some(Difference::Words),
    }
}

/// Returns the listed cases, and the degree to which each may differ.
fn listed(text: &str) -> BTreeMap<&str, Difference> {
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, rest) = line.split_once(' ').unwrap();
            let difference = match rest.trim_start().split(' ').next().unwrap() {
                "words" => Difference::Words,
                "kind" => Difference::Kind,
                "all" => Difference::All,
                other => panic!("{name}: {other}"),
            };
            (name, difference)
        })
        .collect()
}

/// Returns the plan's messages, in the form of `record.rb`.
async fn spoken(world: &World, plan: i64) -> Vec<String> {
    let events = world.store.plan_events(plan, 0, 1_000).await.unwrap();
    let words = events.into_iter().filter_map(|event| {
        let details: Value = serde_json::from_str(&event.details).unwrap();
        let how = match event.kind.as_str() {
            "out_message" => "message".to_owned(),
            "out_verbose" => "verbose".to_owned(),
            "log" => format!("log {}", details["level"].as_str().unwrap()),
            _ => return None,
        };
        Some(format!("{how}: {}", event.message))
    });
    words.collect()
}

async fn answer(world: &World, name: &str) -> Value {
    let plan = world.launch(&format!("cases::{name}"), json!({})).await;
    let (status, value) = world.over(plan).await;
    let events = spoken(world, plan).await;
    let mut answer = json!({"status": status, "value": value, "events": events});
    plain(&mut answer);
    answer
}

#[tokio::test]
async fn plans_answer_as_they_do_in_bolt() {
    let (cases, answers, differences) = (
        text("cases.txt"),
        text("answers.json"),
        text("differences.txt"),
    );
    let answers: BTreeMap<String, Value> = serde_json::from_str(&answers).unwrap();
    let listed = listed(&differences);
    let files = files(&cases);
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let mut world = World::with_shell(&files, &["a", "b", "c"]).await;
    world.is_unattended = true;
    let mut wrong = Vec::new();
    assert!(answers.len() >= 500, "{}", answers.len());
    for (name, bolts) in &answers {
        let mut bolts = bolts.clone();
        if let Some(events) = bolts["events"].as_array_mut() {
            events.retain(|event| {
                let event = event.as_str().unwrap();
                let spoken = ["message: ", "verbose: ", "log "];
                spoken.iter().any(|how| event.starts_with(how))
            });
        }
        let ours = answer(&world, name).await;
        let found = difference(&ours, &bolts);
        if found != listed.get(&**name).copied() {
            wrong.push(format!("{name} {found:?}\n  Bolt: {bolts}\n  here: {ours}"));
        }
    }
    for name in listed.keys() {
        assert!(answers.contains_key(*name), "{name} is no case");
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        answers.len(),
        wrong.join("\n")
    );
}
