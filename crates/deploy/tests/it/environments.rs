//! Environments and module paths.

use deploy::{Code, CodeError, EnvironmentDir};

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
