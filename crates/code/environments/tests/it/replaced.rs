//! Functions in Ruby of an environment that built-in ones replace.

use std::path::Path;

use environments::{CodeReader, EnvironmentDir, replaced_functions, replaced_functions_note};

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join("environments/production/modules").join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn found(root: &Path) -> Vec<String> {
    let code = EnvironmentDir::new(root);
    let version = code.version(&"production".parse().unwrap()).unwrap();
    let found = replaced_functions(&*version).unwrap();
    found
        .iter()
        .map(|it| format!("{} {}/{}", it.name, it.module, it.path))
        .collect()
}

const OWN: &str =
    "Puppet::Functions.create_function(:merge) do\n  def merge(one)\n    one\n  end\nend\n";

#[test]
fn functions_of_other_code_than_stdlibs_are_named_whatever_their_module() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "stdlib/lib/puppet/functions/merge.rb", OWN);
    write(root, "site/lib/puppet/functions/stdlib/ensure.rb", OWN);
    write(root, "site/lib/puppet/parser/functions/zip.rb", OWN);
    write(root, "site/lib/puppet/functions/site/own.rb", OWN);
    write(root, "site/lib/puppet/functions/site_own.rb", OWN);
    write(root, "site/lib/puppet/functions/merge.rb.orig", OWN);
    assert_eq!(
        found(root),
        [
            "merge stdlib/lib/puppet/functions/merge.rb",
            "stdlib::ensure site/lib/puppet/functions/stdlib/ensure.rb",
            "zip site/lib/puppet/parser/functions/zip.rb",
        ]
    );
}

#[test]
fn an_environment_without_such_functions_has_no_note() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "site/manifests/init.pp", "class site {}");
    assert!(found(directory.path()).is_empty());
    assert_eq!(replaced_functions_note(&[]), None);
}

#[test]
fn a_note_names_some_and_counts_the_others() {
    let functions: Vec<_> = (0..25)
        .map(|number| environments::ReplacedFunction {
            name: format!("f{number}"),
            module: "m".to_owned(),
            path: "p".to_owned(),
        })
        .collect();
    let note = replaced_functions_note(&functions).unwrap();
    assert!(note.ends_with("f19 (m/p), and 5 more"), "{note}");
    let note = replaced_functions_note(&functions[..1]).unwrap();
    assert!(note.ends_with(": f0 (m/p)"), "{note}");
}

/// Debian's package of stdlib 8.5, if it is installed.
#[test]
fn of_a_release_of_stdlib_only_functions_that_do_something_else_are_named() {
    let stdlib = Path::new("/usr/share/puppet/modules.available/puppetlabs-stdlib");
    if !stdlib.is_dir() {
        eprintln!("skipped: {} is not there", stdlib.display());
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let modules = directory.path().join("environments/production/modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::os::unix::fs::symlink(stdlib, modules.join("stdlib")).unwrap();
    let names = found(directory.path());
    let names: Vec<&str> = names.iter().filter_map(|it| it.split(' ').next()).collect();
    assert_eq!(
        names,
        [
            "fqdn_rotate",
            "has_interface_with",
            "os_version_gte",
            "to_json",
            "to_toml",
            "to_yaml"
        ]
    );
}
