//! Files that are evaluated.

use crate::tree::Tree;

#[test]
fn modules_say_what_they_depend_on() {
    let dependencies = r#"{"dependencies": [{"name": "puppetlabs/stdlib"}, {"name": "a-b"}]}"#;
    let tree = Tree::new(&[
        ("modules/m/metadata.json", dependencies),
        ("modules/n/manifests/init.pp", ""),
    ]);
    let version = tree.version();
    let names: Vec<String> = version
        .modules()
        .unwrap()
        .into_iter()
        .map(|it| it.name)
        .collect();
    assert_eq!(names, ["m", "n"]);
    let m = version.module("m").unwrap().unwrap();
    assert_eq!(m.dependencies.unwrap(), ["stdlib", "b"]);
    assert_eq!(version.module("n").unwrap().unwrap().dependencies, None);
    assert_eq!(version.module("../m").unwrap(), None);
}

#[test]
fn files_and_directories_are_read_and_nothing_outside() {
    let tree = Tree::new(&[
        ("modules/m/functions/f.pp", "function m::f() { 1 }"),
        ("data/common.yaml", "a: 1"),
        ("data/nodes/x.yaml", "a: 2"),
        ("/secret", "no"),
    ]);
    let version = tree.version();
    let read = |module, path| {
        version
            .source(module, path)
            .map(|it| it.map(|it| it.content))
    };
    assert_eq!(
        read(Some("m"), "functions/f.pp").unwrap().unwrap(),
        b"function m::f() { 1 }"
    );
    assert_eq!(read(None, "data/common.yaml").unwrap().unwrap(), b"a: 1");
    assert_eq!(read(Some("m"), "functions").unwrap(), None);
    assert_eq!(read(Some("x"), "functions/f.pp").unwrap(), None);
    for path in ["../../secret", "/secret", "data/../../secret", "a\0b", ""] {
        assert!(read(None, path).is_err(), "{path:?}");
        assert!(version.entries(None, path).is_err(), "{path:?}");
    }
    let entries = version.entries(None, "data").unwrap();
    let shown: Vec<_> = entries
        .iter()
        .map(|it| (it.name.as_str(), it.is_directory))
        .collect();
    assert_eq!(shown, [("common.yaml", false), ("nodes", true)]);
    assert!(entries.iter().all(|it| !it.is_executable));
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let file = tree.path("data/common.yaml");
    std::fs::set_permissions(file, executable).unwrap();
    let entries = version.entries(None, "data").unwrap();
    assert!(entries[0].is_executable && !entries[1].is_executable);
    assert_eq!(version.entries(None, "nothing").unwrap(), []);
    tree.link("data/link.yaml", tree.path("/secret"));
    assert!(read(None, "data/link.yaml").is_err());
}
