//! The tasks of `apply_helpers` with Puppet 8.10, which apply catalogs that `tutti catalog compile` compiles.
//! The tests of the server apply them with the Puppet of this machine.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::peers::Puppet8;

const SITE: &str = include_str!("site.pp");

/// A node with Puppet 8, and the files of a task.
struct Node {
    directory: TempDir,
    puppet: Puppet8,
}

impl Node {
    fn start() -> Option<Self> {
        if let Some(obstacle) = Puppet8::obstacle() {
            eprintln!("skipped: {obstacle}");
            return None;
        }
        let node = Self {
            directory: tempfile::tempdir().unwrap(),
            puppet: Puppet8::new().unwrap(),
        };
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../modules/apply_helpers");
        for directory in ["tasks", "files"] {
            for file in fs::read_dir(shipped.join(directory)).unwrap() {
                let file = file.unwrap();
                let text = fs::read_to_string(file.path()).unwrap();
                let name = file.file_name().into_string().unwrap();
                node.write(&format!("apply_helpers/{directory}/{name}"), &text);
            }
        }
        Some(node)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("run").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Runs a task and returns its result.
    fn run_task(&self, name: &str, mut parameters: Value) -> Value {
        parameters["_installdir"] = json!(self.path(""));
        let script = self.path(&format!("apply_helpers/tasks/{name}.sh"));
        let input = parameters.to_string();
        let directory = self.directory.path();
        let ran = self.puppet.run_ruby(directory, &script, input.as_bytes());
        let ran = ran.unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|error| panic!("{error}: {:?} {errors}", ran.stdout))
    }

    /// The catalog of the site manifest.
    fn compile(&self) -> Value {
        let code = self.directory.path().join("code");
        fs::create_dir_all(code.join("manifests")).unwrap();
        let target = self.path("target").display().to_string();
        let manifest = SITE.replace("TARGET", &target);
        fs::write(code.join("manifests/site.pp"), manifest).unwrap();
        let test = std::env::current_exe().unwrap();
        let tutti = test.parent().unwrap().parent().unwrap().join("tutti");
        let ran = Command::new(tutti)
            .args([
                "catalog",
                "compile",
                "node.test",
                "--no-ruby",
                "--format",
                "json",
            ])
            .arg("--code-dir")
            .arg(code)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
    }
}

#[test]
fn catalogs_are_applied_by_puppet_8() {
    let Some(node) = Node::start() else { return };
    let catalog = node.compile();
    let noop = json!({"catalog": catalog, "_noop": true});
    let report = node.run_task("apply_catalog", noop);
    assert_eq!(report["puppet_version"], "8.10.0", "{report:#}");
    assert_eq!(report["noop"], true, "{report:#}");
    assert!(!node.path("target").exists());

    let report = node.run_task("apply_catalog", json!({ "catalog": catalog }));
    assert_eq!(report["status"], "changed", "{report:#}");
    assert_eq!(node.read("target/plain"), "plain\n");
    assert_eq!(node.read("target/secret"), "hunter2");
    assert_eq!(node.read("target/deferred"), "DEFERRED");
    assert_eq!(node.read("target/binary"), "hello");
    assert!(!report.to_string().contains("hunter2"), "{report:#}");

    let report = node.run_task("apply_catalog", json!({ "catalog": catalog }));
    assert_eq!(report["status"], "unchanged", "{report:#}");

    // Puppet does not replace a directory by a file
    fs::remove_file(node.path("target/plain")).unwrap();
    node.write("target/plain/file", "");
    let report = node.run_task("apply_catalog", json!({ "catalog": catalog }));
    assert_eq!(report["status"], "failed", "{report:#}");
}

#[test]
fn facts_of_modules_are_those_of_puppet_8() {
    let Some(node) = Node::start() else { return };
    let fact = "Facter.add(:shelf) { setcode { 'seven' } }\n";
    node.write("m/lib/facter/shelf.rb", fact);
    node.write("m/facts.d/rack.rb", "#!/usr/bin/ruby\nputs 'rack=r7'\n");
    node.write("m/facts.d/zone.txt", "zone=z1\n");
    let facts = node.run_task("custom_facts", json!({}));
    for (name, value) in [
        ("shelf", "seven"),
        ("rack", "r7"),
        ("zone", "z1"),
        ("facterversion", "4.10.0"),
        ("puppetversion", "8.10.0"),
    ] {
        assert_eq!(facts[name], value, "{name}: {facts:#}");
    }
    assert_eq!(
        facts["os"]["distro"]["id"]
            .as_str()
            .or(facts["os"]["name"].as_str()),
        Some("Debian")
    );
}
