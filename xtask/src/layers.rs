//! `cargo xtask layers`: the permitted dependencies between crates, and between the files of a
//! crate. Main function: [`run`].
//!
//! Invariant: the folder of a crate is its area, and a crate uses its own area and those that
//! [`Area::uses`] names. Cargo itself refuses cycles within an area. Dependencies of tests may also
//! use the testkit. Within a crate, only few files import one another in cycles.

mod import_cycles;
mod module_tree;
mod named_paths;

use std::collections::{BTreeSet, HashMap};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::camino::Utf8Path;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::run;

/// An area of the workspace: the crates of one folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Area {
    Base,
    Language,
    Wire,
    Code,
    Node,
    Service,
    Faces,
    Programs,
    Tests,
}

impl Area {
    /// The area of the crate whose manifest is at `manifest`, relative to the workspace.
    fn of(manifest: &Utf8Path) -> Option<Self> {
        let mut folders = manifest.components().map(|component| component.as_str());
        Some(match (folders.next()?, folders.next()?) {
            ("crates", "base") => Self::Base,
            ("crates", "language") => Self::Language,
            ("crates", "wire") => Self::Wire,
            ("crates", "code") => Self::Code,
            ("crates", "node") => Self::Node,
            ("crates", "service") => Self::Service,
            ("crates", "faces") => Self::Faces,
            ("bin", _) => Self::Programs,
            ("tests" | "xtask", _) => Self::Tests,
            _ => return None,
        })
    }

    /// The other areas that this one may use; ARCHITECTURE.md has a drawing of them.
    const fn uses(self) -> &'static [Self] {
        use Area::{Base, Code, Faces, Language, Node, Service, Wire};
        match self {
            Base => &[],
            Language | Wire => &[Base],
            Code => &[Base, Language, Wire],
            Node => &[Base, Wire],
            Service => &[Base, Language, Wire, Code],
            Faces => &[Base, Language, Wire, Code, Service],
            Self::Programs => &[Base, Language, Wire, Code, Node, Service, Faces],
            Self::Tests => &[Base, Language, Wire, Code, Service],
        }
    }
}

/// Fails with the list of all dependencies and cycles of imports that are not permitted.
pub(crate) fn run() -> Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(run::root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cannot read the workspace's metadata")?;
    let faults = faults(&metadata)?;
    if !faults.is_empty() {
        bail!(
            "forbidden dependencies between areas:\n  {}",
            faults.join("\n  ")
        );
    }
    let cycles = import_cycles::faults(&metadata)?;
    if !cycles.is_empty() {
        bail!(
            "cycles of imports within a crate:\n  {}",
            cycles.join("\n  ")
        );
    }
    println!(
        "layers: {} crates, every dependency between areas is allowed, no cycle of many files",
        metadata.packages.len()
    );
    Ok(())
}

fn faults(metadata: &Metadata) -> Result<Vec<String>> {
    let areas = areas(metadata)?;
    let mut faults = BTreeSet::new();
    let mut needed = BTreeSet::new();
    for package in &metadata.packages {
        let user = areas[package.name.as_str()];
        for dependency in &package.dependencies {
            let Some(&used) = areas.get(dependency.name.as_str()) else {
                continue;
            };
            let of_tests = dependency.kind == DependencyKind::Development && used == Area::Tests;
            needed.insert((user, used));
            if used != user && !user.uses().contains(&used) && !of_tests {
                faults.insert(format!(
                    "{} ({user:?}) uses {} ({used:?})",
                    package.name, dependency.name
                ));
            }
        }
    }
    for user in areas.values() {
        for used in user.uses() {
            if !needed.contains(&(*user, *used)) {
                faults.insert(format!(
                    "{user:?} may use {used:?} and does not: strike it from xtask/src/layers.rs"
                ));
            }
        }
    }
    Ok(faults.into_iter().collect())
}

/// The area of each crate, by the crate's name.
fn areas(metadata: &Metadata) -> Result<HashMap<&str, Area>> {
    let mut areas = HashMap::new();
    for package in &metadata.packages {
        let manifest = package.manifest_path.as_path();
        let relative = manifest
            .strip_prefix(&metadata.workspace_root)
            .unwrap_or(manifest);
        let area = Area::of(relative)
            .with_context(|| format!("{relative} is in no area: see xtask/src/layers.rs"))?;
        areas.insert(package.name.as_str(), area);
    }
    Ok(areas)
}
