//! Environments that a file, files or a program name, as r10k deploys them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::r10k::{commit, compare, run};

/// A control repository and three modules, each with two states of which the first is tagged.
fn repositories(root: &Path) {
    for name in ["control", "apt", "ntp", "own"] {
        let repository = root.join(name);
        for (version, tag) in [("1", Some("v1")), ("2", None)] {
            for (path, text) in [
                ("VERSION", version),
                ("manifests/init.pp", &format!("class {name} {{ }}\n")),
                ("spec/x_spec.rb", "x"),
                ("Puppetfile", &puppetfile(root)),
            ] {
                let path = repository.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            commit(&repository, "main");
            if let Some(tag) = tag {
                run(&repository, "git", &["tag", tag]);
            }
        }
    }
}

fn puppetfile(root: &Path) -> String {
    let root = root.display();
    format!(
        "mod 'apt', git: '{root}/apt', branch: 'main'\nmod 'ntp', git: '{root}/ntp', tag: 'v1'\n"
    )
}

/// What is in each environment, in YAML that is JSON, too.
fn entries(root: &Path) -> Vec<(&'static str, String)> {
    let root = root.display();
    let git = |version: &str, more: &str| {
        format!(r#"{{"type": "git", "source": "{root}/control", "version": "{version}"{more}}}"#)
    };
    let own = format!(r#""x-own": {{"type": "git", "source": "{root}/own", "version": "v1"}}"#);
    let apt = format!(r#""apt": {{"git": "{root}/apt", "tag": "v1"}}"#);
    let elsewhere =
        format!(r#""own": {{"git": "{root}/own", "branch": "main", "install_path": "site"}}"#);
    vec![
        ("production", git("v1", "")),
        ("tip", git("main", &format!(r#", "modules": {{{own}}}"#))),
        (
            "over",
            git("main", &format!(r#", "modules": {{{apt}, {own}}}"#)),
        ),
        (
            "moved",
            git(
                "main",
                &format!(r#", "moduledir": "external", "modules": {{{apt}, {own}}}"#),
            ),
        ),
        (
            "elsewhere",
            git("v1", &format!(r#", "modules": {{{elsewhere}}}"#)),
        ),
        (
            "lab",
            format!(r#"{{"type": "plain", "modules": {{{apt}, {own}}}}}"#),
        ),
        (
            "bare",
            format!(r#"{{"type": "bare", "modules": {{{own}}}}}"#),
        ),
    ]
}

fn names(root: &Path, prefix: &str) -> Vec<String> {
    let entries = entries(root).into_iter();
    let mut names: Vec<String> = entries.map(|(name, _)| format!("{prefix}{name}")).collect();
    names.sort();
    names
}

fn document(root: &Path) -> String {
    let entries = entries(root);
    let entries: Vec<String> = entries
        .iter()
        .map(|(name, entry)| format!("\"{name}\": {entry}"))
        .collect();
    format!("{{{}}}\n", entries.join(", "))
}

#[tokio::test]
async fn a_file_names_all() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    repositories(root);
    let config = root.join("environments.yaml");
    std::fs::write(&config, document(root)).unwrap();
    let source = format!(
        "type: yaml\n    prefix: team\n    config: {}",
        config.display()
    );
    assert_eq!(compare(root, &source, 2).await, names(root, "team_"));
}

#[tokio::test]
async fn each_has_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    repositories(root);
    let config = root.join("environments.d");
    std::fs::create_dir(&config).unwrap();
    for (name, entry) in entries(root) {
        std::fs::write(config.join(format!("{name}.yaml")), entry).unwrap();
    }
    std::fs::write(config.join("other.yml"), "nothing").unwrap();
    let source = format!("type: yamldir\n    config: {}", config.display());
    assert_eq!(compare(root, &source, 2).await, names(root, ""));
}

#[tokio::test]
async fn a_program_prints_all() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    repositories(root);
    std::fs::write(root.join("document"), document(root)).unwrap();
    let program = root.join("list environments");
    let script = format!("#!/bin/sh\ncat {}/document\n", root.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let source = format!("type: exec\n    command: {}", program.display());
    assert_eq!(compare(root, &source, 2).await, names(root, ""));
}
