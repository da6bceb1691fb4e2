//! Every class of the Puppet modules that Debian packages, compiled by real Puppet:
//! [`compile_classes`], [`check_catalog_classes`].
//!
//! A class is included by name at the top of a site whose base module path has all modules, for a
//! Debian 12 node with modern facts or, if that fails, with legacy facts as well (`cases/classes/node.json`).
//! The documents go to `target/oracles/classes`; the outcomes are in `recorded/classes.txt`, a line for
//! each class: its name, the facts, the number of resources or `fails`, and a digest.
//!
//! Invariant: a document in `target` belongs to the outcome in the list.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

use crate::catalog_cases::{CatalogAnswer, CatalogNode, compare_answers};
use crate::{Puppet, ask_puppet};

/// Relative to this crate; `cargo xtask oracles` unpacks them there.
const MODULES: &str = "../../target/oracles/modules";
/// Relative to this crate.
const DOCUMENTS: &str = "../../target/oracles/classes";
const LIST: &str = "recorded/classes.txt";

/// The manifest of the site, which the node's classifier completes.
const SITE: &str = "include $class_to_compile\n";

/// The outcome of a class: a line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassOutcome {
    pub class: String,
    /// `modern` or `legacy`, the facts of the node; `none` if Puppet did not answer.
    pub facts: String,
    /// The number of resources of the catalog; `None` if the class fails.
    pub resources: Option<u64>,
    /// A digest of the document or of the message.
    pub digest: String,
}

impl fmt::Display for ClassOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.resources.map(|it| it.to_string());
        let count = count.unwrap_or_else(|| "fails".to_owned());
        write!(f, "{} {} {count} {}", self.class, self.facts, self.digest)
    }
}

/// A class with the node and the answer of real Puppet.
#[derive(Debug)]
pub struct ClassCase {
    pub class: String,
    pub node: CatalogNode,
    pub answer: CatalogAnswer,
}

/// The results of a compiler with all classes.
#[derive(Debug, Default)]
pub struct ClassReport {
    pub passed: usize,
    /// Classes that differ, each with its first difference.
    pub failed: Vec<(String, String)>,
}

/// Writes the tree of the site below `root`: `environments/production`, `global` and `library`.
pub fn write_class_site(root: &Path) -> Result<()> {
    let manifests = root.join("environments/production/manifests");
    std::fs::create_dir_all(&manifests)?;
    std::fs::create_dir_all(root.join("global"))?;
    std::fs::write(manifests.join("site.pp"), SITE)?;
    std::os::unix::fs::symlink(modules()?, root.join("library"))?;
    Ok(())
}

/// Compiles every class with Puppet 8 and writes the documents; gives the outcomes.
pub fn compile_classes() -> Result<Vec<ClassOutcome>> {
    let scratch = tempfile::tempdir()?;
    write_class_site(scratch.path())?;
    let output = crate::own(DOCUMENTS);
    if output.is_dir() {
        std::fs::remove_dir_all(&output)?;
    }
    std::fs::create_dir_all(&output)?;
    let mut question = node_file()?;
    question["root"] = json!(scratch.path());
    question["modules"] = json!(modules()?);
    question["output"] = json!(output);
    let answer = ask_puppet(Puppet::Eight, "catalog_classes.rb", &question)?;
    let rows = answer.as_array().context("the answer is no list")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let outcomes = rows.iter().map(|row| ClassOutcome {
        class: text(&row[0]),
        facts: text(&row[1]),
        resources: row[2].as_u64(),
        digest: text(&row[3]),
    });
    Ok(outcomes.collect())
}

/// Reads the list of outcomes.
pub fn recorded_classes() -> Result<Vec<ClassOutcome>> {
    let text = std::fs::read_to_string(crate::own(LIST)).with_context(|| {
        format!("cannot read {LIST}; run `cargo run -p oracles --example record_classes`")
    })?;
    text.lines().map(read_outcome).collect()
}

/// Writes the list of outcomes.
pub fn write_classes(outcomes: &[ClassOutcome]) -> Result<()> {
    let lines: Vec<String> = outcomes.iter().map(|it| format!("{it}\n")).collect();
    std::fs::write(crate::own(LIST), lines.concat()).with_context(|| format!("cannot write {LIST}"))
}

fn read_outcome(line: &str) -> Result<ClassOutcome> {
    let mut words = line.splitn(4, ' ').map(str::to_owned);
    let mut word = || {
        words
            .next()
            .with_context(|| format!("broken line in {LIST}: {line}"))
    };
    let (class, facts, count, digest) = (word()?, word()?, word()?, word()?);
    let resources = (count != "fails").then(|| count.parse()).transpose()?;
    Ok(ClassOutcome {
        class,
        facts,
        resources,
        digest,
    })
}

/// Compiles the classes that real Puppet compiles with `compile`, and compares the documents. Paths in
/// them have fixed names: see [`with_fixed_paths`](crate::catalog_cases::with_fixed_paths).
///
/// The documents must be there: `cargo run -p oracles --example record_classes` writes them.
pub fn check_catalog_classes<A: Into<CatalogAnswer>>(
    compile: impl Fn(&ClassCase) -> A,
) -> Result<ClassReport> {
    let mut report = ClassReport::default();
    for outcome in recorded_classes()? {
        if outcome.resources.is_none() {
            continue;
        }
        let case = class_case(&outcome)?;
        match compare_answers(&compile(&case).into(), &case.answer).first() {
            None => report.passed += 1,
            Some(difference) => report.failed.push((case.class, difference.to_string())),
        }
    }
    Ok(report)
}

/// Reads the document of a class.
pub fn class_case(outcome: &ClassOutcome) -> Result<ClassCase> {
    let path = crate::own(DOCUMENTS).join(format!("{}.json", outcome.class));
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!(
            "cannot read {}; run `cargo run -p oracles --example record_classes`",
            path.display()
        )
    })?;
    let document: Value = serde_json::from_str(&text)?;
    if document["node"] != outcome.facts.as_str() {
        bail!("{} is older than {LIST}", path.display());
    }
    Ok(ClassCase {
        class: outcome.class.clone(),
        node: node_for(outcome)?,
        answer: CatalogAnswer::from_json(&document),
    })
}

fn node_for(outcome: &ClassOutcome) -> Result<CatalogNode> {
    let file = node_file()?;
    let hash = |key: &str| file[key].as_object().cloned().unwrap_or_default();
    let mut facts = hash("facts");
    if outcome.facts == "legacy" {
        facts.extend(hash("legacy_facts"));
    }
    let class = ("class_to_compile".to_owned(), json!(outcome.class));
    Ok(CatalogNode {
        certname: file["certname"].as_str().unwrap_or_default().to_owned(),
        facts,
        server_facts: hash("server_facts"),
        extensions: Map::new(),
        classes: None,
        parameters: Some(Map::from_iter([class])),
    })
}

fn node_file() -> Result<Value> {
    let text = std::fs::read_to_string(crate::own("cases/classes/node.json"))?;
    Ok(serde_json::from_str(&text)?)
}

fn modules() -> Result<PathBuf> {
    let modules = crate::own(MODULES);
    modules.canonicalize().with_context(|| {
        format!(
            "{} is missing; run `cargo xtask oracles` first",
            modules.display()
        )
    })
}
