//! `resource-types` against Puppet 8: the table of the core types, files of `puppet generate types`,
//! and types of modules read without Ruby.

mod core_types;
mod modules;
mod mutants;
mod resource_api;
mod titles;

use std::path::{Path, PathBuf};

use resource_types::{ResourceAttributeKind, ResourceType};
use serde_json::{Value, json};

/// Relative to this crate, as in `oracles`.
const PUPPET_8: &str = "../../target/oracles/puppet8";

/// The files and directories in a directory, sorted; none if it does not exist.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(directory).into_iter().flatten();
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn describe(ours: &ResourceType) -> Value {
    let of_kind = |kind: ResourceAttributeKind| -> Vec<&str> {
        let attributes = ours.attributes().filter(|(_, it)| *it == kind);
        attributes.map(|(name, _)| name).collect()
    };
    let patterns = ours.title_patterns().unwrap_or_default().iter().map(|it| {
        let flags = [
            (it.flags().multiline, "m"),
            (it.flags().ignore_case, "i"),
            (it.flags().extended, "x"),
        ];
        let flags: String = flags.iter().filter(|it| it.0).map(|it| it.1).collect();
        json!([it.source(), flags, it.attributes().collect::<Vec<_>>()])
    });
    json!({
        "name": ours.name(),
        "properties": of_kind(ResourceAttributeKind::Property),
        "parameters": of_kind(ResourceAttributeKind::Parameter),
        "name_variables": ours.name_variables().collect::<Vec<_>>(),
        "title_patterns": patterns.collect::<Vec<_>>(),
        "isomorphic": ours.is_isomorphic(),
    })
}

/// The parts of Puppet's answer that [`describe`] has.
fn comparable(theirs: &Value) -> Value {
    let parts = [
        "name",
        "properties",
        "parameters",
        "name_variables",
        "title_patterns",
        "isomorphic",
    ];
    parts.iter().map(|it| (*it, theirs[*it].clone())).collect()
}
