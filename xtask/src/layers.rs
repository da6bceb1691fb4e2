//! Which crate may use which. Main function: [`run`].
//!
//! The rule: a crate uses the floors below its own, and on its own floor only what [`SIDEWAYS`]
//! lists. Dependencies of tests may also use the testkit.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{DependencyKind, MetadataCommand};

use crate::run;

const FLOORS: &[(u8, &[&str])] = &[
    (
        0,
        &[
            "admission",
            "error-causes",
            "file-access",
            "decode-errors",
            "doctor",
            "eyaml",
            "hocon",
            "https",
            "optional-feature",
            "pki",
            "psych",
            "puppetfile",
            "ruby-regex",
            "suggest",
            "telemetry",
            "ws",
        ],
    ),
    (1, &["api-types", "pcp", "pxp"]),
    (
        2,
        &["evaluator", "hiera", "lookup", "pcore", "stdlib", "syntax"],
    ),
    (
        3,
        &[
            "access",
            "access-directory",
            "actions",
            "agent",
            "audit",
            "broker",
            "classifier",
            "code-manager",
            "deploy",
            "fabric",
            "inventory",
            "jobs",
            "plan-language",
            "plans",
            "schedules",
            "ssh",
            "store",
            "webhooks",
        ],
    ),
    (4, &["api", "cli", "puppet-api"]),
    (5, &["tutti", "tutti-agent"]),
    (6, &["testkit", "xtask"]),
    (7, &["conformance", "oracles"]),
];

/// Edges inside one floor: (user, used).
const SIDEWAYS: &[(&str, &str)] = &[
    ("doctor", "pki"),
    ("https", "admission"),
    ("https", "pki"),
    ("pki", "file-access"),
    ("pxp", "pcp"),
    ("evaluator", "pcore"),
    ("evaluator", "syntax"),
    ("hiera", "pcore"),
    ("lookup", "evaluator"),
    ("lookup", "hiera"),
    ("lookup", "pcore"),
    ("pcore", "syntax"),
    ("stdlib", "evaluator"),
    ("stdlib", "pcore"),
    ("api", "puppet-api"),
    ("access", "store"),
    ("access-directory", "access"),
    ("access-directory", "store"),
    ("agent", "actions"),
    ("audit", "store"),
    ("broker", "fabric"),
    ("inventory", "store"),
    ("classifier", "store"),
    ("code-manager", "deploy"),
    ("code-manager", "store"),
    ("jobs", "classifier"),
    ("jobs", "deploy"),
    ("jobs", "fabric"),
    ("jobs", "inventory"),
    ("jobs", "store"),
    ("plan-language", "deploy"),
    ("plan-language", "fabric"),
    ("plan-language", "jobs"),
    ("plan-language", "plans"),
    ("plan-language", "store"),
    ("plans", "deploy"),
    ("plans", "fabric"),
    ("plans", "jobs"),
    ("plans", "store"),
    ("ssh", "deploy"),
    ("ssh", "fabric"),
    ("ssh", "store"),
    ("webhooks", "store"),
    ("schedules", "store"),
];

/// Fails on the first look at any edge that the house does not have.
pub(crate) fn run() -> Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(run::root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cannot read the workspace's metadata")?;
    let floors = floor_of();
    let mut faults = Vec::new();
    for package in &metadata.packages {
        let user = package.name.as_str();
        let Some(&floor) = floors.get(user) else {
            faults.push(format!(
                "{user} stands on no floor: add it to xtask/src/layers.rs"
            ));
            continue;
        };
        for dependency in &package.dependencies {
            let used = dependency.name.as_str();
            let Some(&below) = floors.get(used) else {
                continue;
            };
            let in_tests = dependency.kind == DependencyKind::Development;
            if !allowed((user, floor), (used, below), in_tests) {
                faults.push(format!(
                    "{user} (floor {floor}) uses {used} (floor {below})"
                ));
            }
        }
    }
    if !faults.is_empty() {
        bail!(
            "edges that the house does not have:\n  {}",
            faults.join("\n  ")
        );
    }
    println!(
        "layers: {} crates, every edge runs down",
        metadata.packages.len()
    );
    Ok(())
}

fn allowed(user: (&str, u8), used: (&str, u8), in_tests: bool) -> bool {
    used.1 < user.1
        || SIDEWAYS.contains(&(user.0, used.0))
        || (in_tests && used.0 == "testkit")
        || (user.0 == "xtask" && used.0 == "testkit")
}

fn floor_of() -> HashMap<&'static str, u8> {
    FLOORS
        .iter()
        .flat_map(|(floor, names)| names.iter().map(|name| (*name, *floor)))
        .collect()
}
