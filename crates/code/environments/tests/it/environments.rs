//! Environments and module paths.

use environments::{CodeError, CodeReader, EnvironmentDir};

use crate::tree::Tree;

#[test]
fn environments_are_listed_and_unknown_ones_named() {
    let tree = Tree::new(&[
        ("/environments/feature_1/x", ""),
        ("/environments/Not-a-name/x", ""),
        ("/environments/file", ""),
    ]);
    let code = EnvironmentDir::new(tree.codedir());
    let names: Vec<String> = code
        .environments()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(names, ["feature_1", "production"]);
    let error = code.version(&"nowhere".parse().unwrap()).unwrap_err();
    assert!(error.is_not_found());
    assert!(
        error
            .to_string()
            .contains("there is no environment `nowhere`"),
        "{error}"
    );
    assert!(
        EnvironmentDir::new("/nonexistent")
            .environments()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_version_stays_what_it_was_when_the_link_is_switched() {
    let tree = Tree::new(&[]);
    let versions = ["1", "2"].map(|digit| format!("linked_{}", digit.repeat(40)));
    for version in &versions {
        let task = format!("/versions/{version}/modules/ntp/tasks/init.sh");
        tree.write(&task, version.as_bytes());
    }
    let switch = |version: &str| {
        let fresh = tree.path("/environments/fresh");
        std::os::unix::fs::symlink(tree.path(&format!("/versions/{version}")), &fresh).unwrap();
        std::fs::rename(fresh, tree.path("/environments/linked")).unwrap();
    };
    switch(&versions[0]);
    let code = EnvironmentDir::new(tree.codedir());
    let name = "linked".parse().unwrap();
    let before = code.version(&name).unwrap();
    switch(&versions[1]);
    let after = code.version(&name).unwrap();
    for (version, digit) in [(before, "1"), (after, "2")] {
        let code_id = format!("urn:puppet:code-id:1:{};linked", digit.repeat(40));
        assert_eq!(version.code_id(), Some(code_id.as_str()));
        let task = version.task(&"ntp".parse().unwrap()).unwrap();
        let content = std::fs::read_to_string(task.files[0].source()).unwrap();
        assert!(content.ends_with(digit), "{content}");
    }
    let plain = code.version(&"production".parse().unwrap()).unwrap();
    assert_eq!(plain.code_id(), None);

    // A version is found by its code id while it exists; also after its environment is gone, if the
    // directory is known.
    let id = |digit: &str, of: &str| format!("urn:puppet:code-id:1:{};{of}", digit.repeat(40));
    let first = code.version_of(&name, Some(&id("1", "linked"))).unwrap();
    assert_eq!(
        first.directory(),
        tree.path(&format!("/versions/{}", versions[0]))
    );
    let present = code.version_of(&name, None).unwrap();
    assert_eq!(present.code_id(), Some(&*id("2", "linked")));
    for unknown in [
        id("3", "linked"),
        id("1", "production"),
        id("1", "../linked"),
        id("g", "linked"),
        format!("../{}", id("1", "linked")),
        String::new(),
    ] {
        let refused = code.version_of(&name, Some(&unknown)).unwrap_err();
        assert!(refused.is_not_found(), "{refused}");
        assert!(refused.to_string().contains(&unknown), "{refused}");
    }
    std::fs::remove_file(tree.path("/environments/linked")).unwrap();
    assert!(code.version_of(&name, Some(&id("1", "linked"))).is_err());
    let code = code.with_versions(tree.path("/versions"));
    let first = code.version_of(&name, Some(&id("1", "linked"))).unwrap();
    assert_eq!(first.code_id(), Some(&*id("1", "linked")));
}

#[test]
fn modules_come_from_the_first_place_that_has_them() {
    let tree = Tree::new(&[
        (
            "environment.conf",
            "modulepath = site-modules:modules:$basemodulepath\n",
        ),
        ("site-modules/ntp/tasks/init.sh", "site"),
        ("modules/ntp/tasks/other.sh", "hidden"),
        ("/modules/base/tasks/init.sh", "base"),
        ("/shipped/exec/tasks/init.sh", "shipped"),
    ]);
    let code = EnvironmentDir::new(tree.codedir()).with_modules(tree.path("/shipped"));
    let version = code.version(&"production".parse().unwrap()).unwrap();
    let names: Vec<String> = version
        .tasks()
        .unwrap()
        .iter()
        .map(|task| task.name.to_string())
        .collect();
    assert_eq!(names, ["base", "exec", "ntp"]);
    assert!(
        version
            .task(&"ntp::other".parse().unwrap())
            .unwrap_err()
            .is_not_found()
    );
    assert_eq!(version.code_id(), None);
}

#[test]
fn a_wrong_environment_conf_is_named_with_its_line() {
    let tree = Tree::new(&[("environment.conf", "manifest = x\nmodulepath = $vardir/m\n")]);
    let code = EnvironmentDir::new(tree.codedir());
    let error = code.version(&"production".parse().unwrap()).unwrap_err();
    assert!(
        matches!(error, CodeError::EnvironmentConf { line: 2, .. }),
        "{error}"
    );
    tree.write("environment.conf", b"a = b\nmodulepath = \xff\n");
    let error = code
        .version(&"production".parse().unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 2: it is not UTF-8"), "{error}");
    tree.write("environment.conf", &[b'#'; (64 << 10) + 1]);
    let error = code
        .version(&"production".parse().unwrap())
        .unwrap_err()
        .to_string();
    assert!(error.contains("more than"), "{error}");
}
