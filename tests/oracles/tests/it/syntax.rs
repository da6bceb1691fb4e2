//! The parser and validator against Puppet's: over Debian's modules, and over sources broken at random.

mod dump;
mod mutants;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oracles::{Puppet, ask_puppet};
use serde_json::{Value, json};
use syntax::{Diagnostic, SourceText, SyntaxOptions};

use crate::random::Random;

/// Where Debian's packages put modules.
const MODULES: &str = "/usr/share/puppet/modules.available";
/// Modules of `cargo xtask test --full` have more.
const MANIFESTS_MIN: usize = 800;
/// Puppet needs some 4 ms for one.
const MUTANTS: usize = 4_000;

/// One source, and how it is read.
#[derive(Clone)]
struct Case {
    name: String,
    code: String,
    options: SyntaxOptions,
}

/// What a side says of a source: nothing, or its first error.
#[derive(Debug, Clone, PartialEq)]
struct Fault {
    message: String,
    place: Option<(u64, u64)>,
}

#[test]
fn every_manifest_of_the_modules_is_judged_alike() {
    let cases = corpus();
    assert!(
        cases.len() >= MANIFESTS_MIN,
        "only {} manifests in {MODULES}: install puppet-module-puppetlabs-stdlib and its neighbours",
        cases.len()
    );
    let theirs = puppet(Puppet::Eight, &cases);
    let differ: Vec<String> = cases
        .iter()
        .zip(theirs)
        .filter(|(case, theirs)| ours(case).is_some() != theirs.is_some())
        .map(|(case, theirs)| format!("{}: {:?}, Puppet {theirs:?}", case.name, ours(case)))
        .collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    println!("{} manifests and templates are judged alike", cases.len());
}

#[test]
fn broken_sources_are_judged_alike() {
    let (own, corpus) = (own_cases(), corpus());
    let cases = mutants_of(&own, &corpus);
    let mut tally = Tally::default();
    for (case, theirs) in cases.iter().zip(puppet(Puppet::Eight, &cases)) {
        tally.add(case, ours(case), theirs);
    }
    println!("{}", tally.summary());
    // 99 of 100 at least; the differences known stand in docs/language.md
    assert!(
        tally.differ.len() * 100 <= MUTANTS,
        "{}",
        tally.differ.join("\n")
    );
    assert!(
        tally.same_place * 100 >= tally.placed * 97,
        "{}",
        tally.elsewhere.join("\n")
    );
    assert!(tally.same_message * 100 >= tally.refused * 97);
}

/// Every node of every tree is of the same kind, at the same place, with the same value.
#[test]
fn trees_are_the_same() {
    let (own, corpus) = (own_cases(), corpus());
    let mut cases = mutants_of(&own, &corpus);
    cases.extend(own);
    cases.extend(corpus);
    let theirs = ask_puppet(Puppet::Eight, "trees.rb", &question(&cases)).expect("Puppet answers");
    let theirs = theirs.as_array().expect("a list");
    let mut same = 0;
    let mut differ = Vec::new();
    for (case, theirs) in cases.iter().zip(theirs) {
        // null: refused, so there is no tree
        let Some(theirs) = theirs.get(0) else {
            continue;
        };
        let source = Arc::new(SourceText::new(None, case.code.as_str()));
        let ours = dump::tree(&syntax::parse(&source, case.options).ast);
        if ours == *theirs {
            same += 1;
        } else {
            differ.push(format!("{}\n{ours}\n{theirs}", case.name));
        }
    }
    println!("{same} trees are the same, {} differ", differ.len());
    assert!(same >= MANIFESTS_MIN);
    assert!(differ.len() * 1000 <= same, "{}", differ.join("\n"));
}

fn mutants_of(own: &[Case], corpus: &[Case]) -> Vec<Case> {
    let short: Vec<&Case> = corpus
        .iter()
        .filter(|case| case.code.len() < 12_000)
        .collect();
    let own: Vec<&Case> = own.iter().collect();
    let mut random = Random::new(0x7077);
    (0..MUTANTS)
        .map(|number| {
            // a third of what has every part of the language, so that rare parts are broken too
            let from = if random.below(3) == 0 { &own } else { &short };
            let case = from[random.below(from.len())];
            Case {
                name: format!("mutant {number} of {}", case.name),
                code: mutants::broken(&case.code, &mut random),
                options: case.options,
            }
        })
        .collect()
}

/// How often both say the same.
#[derive(Default)]
struct Tally {
    all: usize,
    differ: Vec<String>,
    elsewhere: Vec<String>,
    refused: usize,
    /// Refused by both, with a place by Puppet.
    placed: usize,
    same_place: usize,
    same_message: usize,
}

impl Tally {
    fn add(&mut self, case: &Case, ours: Option<Fault>, theirs: Option<Fault>) {
        self.all += 1;
        match (ours, theirs) {
            (None, None) => {}
            (Some(ours), Some(theirs)) => {
                self.refused += 1;
                self.same_message += usize::from(alike(&ours.message, &theirs.message));
                if theirs.place.is_some() {
                    self.placed += 1;
                    if ours.place == theirs.place {
                        self.same_place += 1;
                    } else {
                        self.elsewhere
                            .push(format!("{}: {ours:?}, Puppet {theirs:?}", case.name));
                    }
                }
            }
            (ours, theirs) => self.differ.push(format!(
                "{}: {ours:?}, Puppet {theirs:?}\n{}",
                case.name, case.code
            )),
        }
    }

    fn summary(&self) -> String {
        let share = |part: usize, whole: usize| format!("{part} of {whole}");
        format!(
            "{} judged alike; refused by both: {} with the same message, {} at the same line and \
             column",
            share(self.all - self.differ.len(), self.all),
            share(self.same_message, self.refused),
            share(self.same_place, self.placed),
        )
    }
}

/// Ruby shows regular expressions whole and with escaped slashes; ours are cut and unescaped.
fn alike(ours: &str, theirs: &str) -> bool {
    let what = |message: &str| message.split(": /").next().unwrap_or("").to_owned();
    ours == theirs || (theirs.contains(": /") && what(ours) == what(theirs))
}

fn ours(case: &Case) -> Option<Fault> {
    let source = Arc::new(SourceText::new(None, case.code.as_str()));
    let parsed = syntax::parse(&source, case.options);
    let fault = parsed.diagnostics.into_iter().find(Diagnostic::is_error)?;
    let place = source.position(fault.span.start);
    Some(Fault {
        message: fault.message,
        place: Some((place.line.into(), place.column.into())),
    })
}

fn puppet(version: Puppet, cases: &[Case]) -> Vec<Option<Fault>> {
    let answers = ask_puppet(version, "syntax.rb", &question(cases)).expect("Puppet answers");
    let answers = answers.as_array().expect("a list").iter();
    answers
        .map(|answer| {
            let message = answer.get("message")?.as_str()?.to_owned();
            let number = |name: &str| answer.get(name).and_then(Value::as_u64);
            let place = number("line").zip(number("column"));
            Some(Fault { message, place })
        })
        .collect()
}

fn question(cases: &[Case]) -> Value {
    let ask = |case: &Case| {
        let SyntaxOptions { epp, tasks, .. } = case.options;
        json!({ "code": case.code, "epp": epp, "tasks": tasks })
    };
    cases.iter().map(ask).collect()
}

fn corpus() -> Vec<Case> {
    read_all(Path::new(MODULES))
}

fn own_cases() -> Vec<Case> {
    read_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/syntax"))
}

fn read_all(directory: &Path) -> Vec<Case> {
    let mut paths = Vec::new();
    walk(directory, &mut paths);
    paths.sort();
    paths.iter().filter_map(|path| case(path)).collect()
}

fn case(path: &Path) -> Option<Case> {
    let epp = match path.extension()?.to_str()? {
        "pp" => false,
        "epp" => true,
        _ => return None,
    };
    let tasks = path.components().any(|part| part.as_os_str() == "plans");
    Some(Case {
        name: path.display().to_string(),
        code: std::fs::read_to_string(path).ok()?,
        options: SyntaxOptions {
            epp,
            tasks,
            ..SyntaxOptions::default()
        },
    })
}

fn walk(directory: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), paths),
            Ok(kind) if kind.is_file() => paths.push(entry.path()),
            _ => {}
        }
    }
}
