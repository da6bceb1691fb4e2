//! The environments whose catalogs are measured. Main types: [`BenchEnvironment`], [`PuppetRole`].
//!
//! Invariant: each environment is a version behind a link, as deployed code is, so its catalogs are static.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value, json};
use testkit::installation::Installation;

/// Facts of a node: as many, with as many bytes, as Facter reports on a small machine.
const FACTS: usize = 100;
const FACT_BYTES: usize = 200;

/// The signature of all versions.
const SIGNATURE: &str = "0123456789abcdef0123456789abcdef01234567";

/// A resource that depends on no fact, and one that depends on the fact that changes with each request.
const UNCHANGED: &str = "notify { 'x': }\n";
const CHANGING: &str = "notify { \"${facts['changing']}\": }\n";

const FILES: &str = "Integer[1, 3000].each |$n| { file { \"/f${n}\": content => \"x${n}\" } }\n";

/// Code, and the nodes that get it.
pub(super) struct BenchEnvironment {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// True if each catalog depends on the fact that changes.
    pub(super) is_changing: bool,
    /// Facts of the nodes, without the one that changes.
    pub(super) facts: Map<String, Value>,
}

/// A role with its modules.
#[derive(Debug)]
pub(crate) struct PuppetRole {
    /// A directory with `manifests` and `modules`.
    directory: PathBuf,
    facts: Map<String, Value>,
}

// === impl PuppetRole ===

impl PuppetRole {
    /// The role in a directory, for nodes with the facts in a file; `None` if none is given.
    pub(crate) fn read(directory: Option<PathBuf>, facts: Option<PathBuf>) -> Result<Option<Self>> {
        let (Some(directory), Some(facts)) = (directory, facts) else {
            return Ok(None);
        };
        let text =
            std::fs::read(&facts).with_context(|| format!("cannot read {}", facts.display()))?;
        let mut facts: Map<String, Value> = serde_json::from_slice(&text)?;
        // A server adds its own name and version.
        facts.retain(|name, _| !name.starts_with("server"));
        Ok(Some(Self { directory, facts }))
    }
}

/// Writes the environments into the code directory of the installation.
pub(super) fn write_environments(
    installation: &Installation,
    role: Option<&PuppetRole>,
) -> Result<Vec<BenchEnvironment>> {
    let generated = [
        ("one_unchanged", "one resource, unchanged", "", UNCHANGED),
        (
            "one_changing",
            "one resource, compiled each time",
            "",
            CHANGING,
        ),
        (
            "many_unchanged",
            "3,001 resources, unchanged",
            FILES,
            UNCHANGED,
        ),
        (
            "many_changing",
            "3,001 resources, compiled each time",
            FILES,
            CHANGING,
        ),
    ];
    let mut environments = Vec::new();
    for (name, description, resources, last) in generated {
        let version = create_version(installation, name)?;
        write_manifest(&version, "site.pp", &format!("{resources}{last}"))?;
        environments.push(BenchEnvironment {
            name,
            description,
            is_changing: last == CHANGING,
            facts: generated_facts(),
        });
    }
    let Some(role) = role else {
        return Ok(environments);
    };
    let role_environments = [
        ("role_unchanged", "role with apache, unchanged", UNCHANGED),
        (
            "role_changing",
            "role with apache, compiled each time",
            CHANGING,
        ),
    ];
    for (name, description, last) in role_environments {
        let version = create_version(installation, name)?;
        copy(&role.directory, &version)?;
        write_manifest(&version, "zz_last.pp", last)?;
        environments.push(BenchEnvironment {
            name,
            description,
            is_changing: last == CHANGING,
            facts: role.facts.clone(),
        });
    }
    Ok(environments)
}

fn generated_facts() -> Map<String, Value> {
    let facts = (0..FACTS).map(|number| (format!("fact_{number}"), json!("x".repeat(FACT_BYTES))));
    facts.collect()
}

/// Creates a version of an environment and makes it live.
fn create_version(installation: &Installation, name: &str) -> Result<PathBuf> {
    let directory = format!("versions/{name}_{SIGNATURE}");
    let version = installation.code_dir().join(&directory);
    std::fs::create_dir_all(version.join("manifests"))?;
    let live = installation.code_dir().join("environments").join(name);
    std::os::unix::fs::symlink(Path::new("..").join(directory), live)?;
    Ok(version)
}

fn write_manifest(version: &Path, name: &str, text: &str) -> Result<()> {
    std::fs::write(version.join("manifests").join(name), text)?;
    Ok(())
}

/// Copies what a directory contains.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = Command::new("cp")
        .arg("-rL")
        .arg(from.join("."))
        .arg(to)
        .status()
        .context("cannot start cp")?;
    ensure!(copied.success(), "cp ended with {copied}");
    Ok(())
}
