//! Checks of the Ruby code of the shipped module `common` without Puppet (`ruby/again.rb`), with the Ruby of both versions.

use std::path::Path;

use testkit::peers::Puppet8;
use testkit::peers::puppet_agent::PUPPET;

use crate::site::{outcome, write};

/// Copies the module and the checks into a directory.
fn place_checks(directory: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = "lib/puppet_x/common/again";
    for file in std::fs::read_dir(here.join("../../modules/common").join(library)).unwrap() {
        let file = file.unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let name = file.file_name().into_string().unwrap();
        write(&directory.join("module").join(library).join(name), &text);
    }
    let checks = std::fs::read_to_string(here.join("ruby/again.rb")).unwrap();
    write(&directory.join("again.rb"), &checks);
    std::fs::create_dir(directory.join("work")).unwrap();
    let start = format!(
        "#!/usr/bin/ruby\nARGV.replace(['{0}/module', '{0}/work'])\nload '{0}/again.rb'\n",
        directory.display()
    );
    write(&directory.join("start.rb"), &start);
}

fn passes(output: &std::process::Output) {
    let (status, printed) = outcome(output);
    assert_eq!(status, Some(0), "{printed}");
    assert!(printed.matches("ok      ").count() > 30, "{printed}");
}

#[test]
fn the_ruby_code_withstands_kills_damage_and_full_disks_with_puppet_7() {
    if !Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    place_checks(directory.path());
    // a full disk is a mount of its own
    let mut command = match Puppet8::obstacle() {
        None => {
            let mut command = std::process::Command::new("unshare");
            command.args(["--mount", "ruby"]);
            command
        }
        Some(_) => std::process::Command::new("ruby"),
    };
    let output = command.arg(directory.path().join("start.rb")).output();
    let output = output.unwrap();
    passes(&output);
    if command.get_program() == "unshare" {
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(!printed.contains("SKIPPED"), "{printed}");
    }
}

#[test]
fn the_ruby_code_withstands_kills_damage_and_full_disks_with_puppet_8() {
    if let Some(obstacle) = Puppet8::obstacle() {
        eprintln!("SKIPPED: no Puppet 8: {obstacle}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    place_checks(directory.path());
    let puppet = Puppet8::new().unwrap();
    let start = directory.path().join("start.rb");
    passes(&puppet.run_ruby(directory.path(), &start, b"").unwrap());
}
