//! Files that nodes request.

use std::io::Read;

use environments::{CodeError, FileMount};

use crate::tree::Tree;

#[test]
fn files_of_each_mount_are_found() {
    let tree = Tree::new(&[
        ("modules/a/files/x/y", "files"),
        ("modules/a/tasks/init.sh", "tasks"),
        ("modules/a/scripts/s.sh", "scripts"),
        ("modules/b/lib/puppet/z.rb", "lib"),
    ]);
    let version = tree.version();
    for (mount, module, path, content) in [
        (FileMount::Modules, Some("a"), "x/y", "files"),
        (FileMount::Tasks, Some("a"), "init.sh", "tasks"),
        (FileMount::Scripts, Some("a"), "s.sh", "scripts"),
        (FileMount::Plugins, None, "puppet/z.rb", "lib"),
    ] {
        let mut file = version.file(mount, module, path).unwrap();
        let mut text = String::new();
        file.content.read_to_string(&mut text).unwrap();
        assert_eq!(
            (text.as_str(), file.size_bytes),
            (content, content.len() as u64)
        );
    }
    for (module, path) in [("a", "none"), ("a", "x"), ("c", "x"), ("A/../b", "x")] {
        let error = version
            .file(FileMount::Modules, Some(module), path)
            .unwrap_err();
        assert!(error.is_not_found(), "{module} {path}: {error}");
    }
    let long = "x".repeat(5_000);
    assert!(
        version
            .file(FileMount::Modules, Some("a"), &long)
            .unwrap_err()
            .is_not_found()
    );
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let tree = Tree::new(&[("modules/a/files/x", ""), ("modules/a/secret", "")]);
    let version = tree.version();
    for path in [
        "../secret",
        "x/../../secret",
        "/etc/passwd",
        "",
        "x//y",
        "./x",
        "x\0",
        "x/",
    ] {
        let error = version
            .file(FileMount::Modules, Some("a"), path)
            .unwrap_err();
        assert!(
            matches!(error, CodeError::InvalidPath { .. }),
            "{path:?}: {error}"
        );
    }
    assert!(version.file(FileMount::Modules, None, "x").is_err());
    assert!(version.file(FileMount::Plugins, Some("a"), "x").is_err());
}
