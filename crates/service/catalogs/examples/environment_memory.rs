//! Memory of an environment with many modules, and of several versions of it:
//! `environment_memory MODULES FACTS VERSIONS` or `environment_memory --smallest`.
//!
//! Each version has a copy of the modules, in which one file differs. Every class of every module is
//! compiled once for a node of its own in each version, so that all manifests are read. It prints the
//! memory of the process after the first version and after the last one.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its figures"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;

use catalogs::{CompilerOptions, EnvironmentOnDisk};
use compiler::{ClassifiedClass, CompileRequest, CompilerEnvironment};
use evaluator::SharedUnits;
use pcore::{Hash, Value};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scratch = std::env::temp_dir().join(format!("environment-memory-{}", std::process::id()));
    let result = match arguments.as_slice() {
        [one] if one == "--smallest" => smallest(&scratch),
        [modules, facts, versions] => match versions.parse() {
            Ok(versions) => read_facts(facts)
                .and_then(|facts| measure(Path::new(modules), &facts, versions, &scratch)),
            Err(_) => Err(format!("{versions} is no number of versions")),
        },
        _ => Err("usage: environment_memory [--smallest | MODULES FACTS VERSIONS]".to_owned()),
    };
    let removed = std::fs::remove_dir_all(&scratch);
    match result.and(removed.map_err(|error| error.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn smallest(scratch: &Path) -> Result<(), String> {
    let modules = scratch.join("modules");
    for module in ["one", "two"] {
        let manifests = modules.join(module).join("manifests");
        std::fs::create_dir_all(&manifests).map_err(|error| error.to_string())?;
        let class = format!("class {module} {{ notify {{ '{module}': }} }}\n");
        std::fs::write(manifests.join("init.pp"), class).map_err(|error| error.to_string())?;
    }
    measure(&modules, &Hash::new(), 2, scratch)
}

fn read_facts(path: &str) -> Result<Hash, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let facts = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    match Value::from_json(&facts) {
        Value::Hash(facts) => Ok(Hash::clone(&facts)),
        _ => Err(format!("{path} has no facts")),
    }
}

fn measure(modules: &Path, facts: &Hash, versions: usize, scratch: &Path) -> Result<(), String> {
    let classes = class_names(modules).map_err(|error| error.to_string())?;
    let before = resident_kilobytes();
    let shared = Arc::new(SharedUnits::default());
    let mut open = Vec::with_capacity(versions);
    let mut first = 0;
    let mut compiled = 0;
    for number in 0..versions {
        let version = scratch.join(format!("version{number}"));
        write_version(modules, &version, number).map_err(|error| error.to_string())?;
        let environment = environment(&version, &shared)?;
        compiled += classes
            .iter()
            .filter(|class| compile(&environment, facts, class))
            .count();
        open.push(environment);
        if number == 0 {
            first = resident_kilobytes();
        }
    }
    println!(
        "{} classes, {compiled} compiled in {versions} versions; resident: {before} kB at the start, {first} kB with \
         one version, {} kB with {versions}",
        classes.len(),
        resident_kilobytes()
    );
    Ok(())
}

/// A copy of the modules, with one file of its own.
fn write_version(modules: &Path, version: &Path, number: usize) -> std::io::Result<()> {
    std::fs::create_dir_all(version)?;
    let copied = Command::new("cp")
        .arg("-rL")
        .arg(modules)
        .arg(version.join("modules"))
        .status()?;
    if !copied.success() {
        return Err(std::io::Error::other("cp failed"));
    }
    let own = version.join("modules/own/manifests");
    std::fs::create_dir_all(&own)?;
    std::fs::write(
        own.join("init.pp"),
        format!("class own {{ $number = {number} }}\n"),
    )
}

fn environment(version: &Path, shared: &Arc<SharedUnits>) -> Result<CompilerEnvironment, String> {
    let none = Path::new("/nonexistent");
    let on_disk = EnvironmentOnDisk::open("production", version, &[], none);
    let on_disk = on_disk.map_err(|error| error.to_string())?;
    Ok(on_disk.into_compiler(CompilerOptions {
        version: version.display().to_string(),
        shared_units: Some(Arc::clone(shared)),
        ..CompilerOptions::default()
    }))
}

/// True if the class can be compiled; many cannot without parameters, but their manifests are read.
fn compile(environment: &CompilerEnvironment, facts: &Hash, class: &str) -> bool {
    let request = CompileRequest {
        certname: "node.example.com".to_owned(),
        facts: facts.clone(),
        classes: vec![ClassifiedClass {
            name: class.to_owned(),
            parameters: Hash::new(),
        }],
        ..CompileRequest::default()
    };
    compiler::compile(environment, &request).is_ok()
}

/// The names of classes and defined types, by the paths of their manifests.
fn class_names(modules: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for module in std::fs::read_dir(modules)? {
        let module = module?;
        let name = module.file_name().to_string_lossy().into_owned();
        find_manifests(&module.path().join("manifests"), &name, &mut names)?;
    }
    names.sort();
    Ok(names)
}

fn find_manifests(directory: &Path, prefix: &str, names: &mut Vec<String>) -> std::io::Result<()> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Ok(());
    };
    for entry in entries {
        let path: PathBuf = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = match &*stem {
            "init" => prefix.to_owned(),
            stem => format!("{prefix}::{stem}"),
        };
        if path.is_dir() {
            find_manifests(&path, &name, names)?;
        } else if path.extension().is_some_and(|it| it == "pp") {
            names.push(name);
        }
    }
    Ok(())
}

/// Memory of this process in use.
fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|it| it.parse().ok()).unwrap_or_default()
}
