//! Tests of the installed items and their modes.

use super::*;

/// SHA-256 of `abc`, from FIPS 180-2.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn item(destination: PathBuf, kind: ItemKind) -> FileItem {
    FileItem {
        destination,
        mode: 0o750,
        kind,
    }
}

fn content(destination: PathBuf) -> FileItem {
    let spec = serde_json::json!({
        "filename": "x", "sha256": ABC, "uri": {"path": "/x", "params": {}},
    });
    item(
        destination,
        ItemKind::File(serde_json::from_value(spec).unwrap()),
    )
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path)
        .unwrap()
        .permissions()
        .mode()
        & 0o7777
}

fn cached(dir: &Path, bytes: &str) -> PathBuf {
    let cached = dir.join("cached");
    std::fs::write(&cached, bytes).unwrap();
    cached
}

#[test]
fn a_file_is_put_in_place_with_its_parents() {
    let dir = tempfile::tempdir().unwrap();
    let cached = cached(dir.path(), "abc");
    let destination = dir.path().join("new/deep/file");
    install_item(
        &content(destination.clone()),
        Some((&cached, ABC.parse().unwrap())),
    )
    .unwrap();
    assert_eq!(std::fs::read(&destination).unwrap(), b"abc");
    assert_eq!(mode(&destination), 0o750);
}

#[test]
fn a_new_file_has_the_mode_that_the_request_names_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let cached = cached(dir.path(), "abc");
    for (asked, given) in [(Some(0o644), 0o644), (Some(0o4755), 0o755), (None, 0o750)] {
        let destination = dir.path().join(format!("{given:o}"));
        let params = serde_json::json!({
            "files": [{
                "destination": destination, "link_source": "", "sha256": ABC, "kind": "file",
                "uri": {"path": "/x", "params": {}},
            }],
            "mode": asked,
        });
        let planned = plan(&serde_json::value::to_raw_value(&params).unwrap());
        let Ok(RequestPlan::Work(ActionPlan::Files(plan))) = planned else {
            panic!("no files: {planned:?}");
        };
        install_item(&plan.items[0], Some((&cached, ABC.parse().unwrap()))).unwrap();
        assert_eq!(mode(&destination), given);
    }
}

#[test]
fn each_item_of_a_tree_has_its_own_mode() {
    let dir = tempfile::tempdir().unwrap();
    let cached = cached(dir.path(), "abc");
    let entry = |name: &str, kind: &str, mode: Option<u32>| {
        serde_json::json!({
            "destination": dir.path().join(name), "link_source": "", "kind": kind, "mode": mode,
            "sha256": if kind == "file" { ABC } else { "" },
            "uri": {"path": "/x", "params": {}},
        })
    };
    let params = serde_json::json!({
        "files": [
            entry("new/top", "directory", Some(0o755)),
            entry("new/stock", "directory", None),
            entry("new/top/plain", "file", None),
            entry("new/top/run", "file", Some(0o755)),
        ],
        "mode": 0o644,
    });
    let planned = plan(&serde_json::value::to_raw_value(&params).unwrap());
    let Ok(RequestPlan::Work(ActionPlan::Files(plan))) = planned else {
        panic!("no files: {planned:?}");
    };
    for item in &plan.items {
        install_item(item, Some((&cached, ABC.parse().unwrap()))).unwrap();
    }
    for (name, expected) in [
        ("new/top", 0o755),
        ("new/stock", 0o750),
        ("new/top/plain", 0o644),
        ("new/top/run", 0o755),
    ] {
        assert_eq!(mode(&dir.path().join(name)), expected, "{name}");
    }
}

#[test]
fn an_existing_file_is_replaced_and_keeps_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    let cached = cached(dir.path(), "abc");
    let destination = dir.path().join("file");
    std::fs::write(&destination, "old").unwrap();
    std::fs::set_permissions(&destination, Permissions::from_mode(0o604)).unwrap();
    install_item(
        &content(destination.clone()),
        Some((&cached, ABC.parse().unwrap())),
    )
    .unwrap();
    assert_eq!(std::fs::read(&destination).unwrap(), b"abc");
    assert_eq!(mode(&destination), 0o604);
}

#[test]
fn wrong_content_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cached = cached(dir.path(), "abd");
    let destination = dir.path().join("file");
    std::fs::write(&destination, "old").unwrap();
    let error = install_item(
        &content(destination.clone()),
        Some((&cached, ABC.parse().unwrap())),
    )
    .unwrap_err();
    assert!(matches!(error, ItemInstallError::Changed { .. }), "{error}");
    assert_eq!(std::fs::read(&destination).unwrap(), b"old");
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        2,
        "no temporary file stays"
    );
}

#[test]
fn links_are_made_dangling_and_replaced_but_never_followed() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("target");
    std::fs::write(&target, "secret").unwrap();
    std::fs::set_permissions(&target, Permissions::from_mode(0o600)).unwrap();
    let destination = dir.path().join("link");
    for name in ["nowhere", "target"] {
        let link = ItemKind::Symlink {
            target: name.into(),
        };
        install_item(&item(destination.clone(), link), None).unwrap();
        assert_eq!(std::fs::read_link(&destination).unwrap(), Path::new(name));
    }
    assert_eq!(mode(&target), 0o600);
    let cached = cached(dir.path(), "abc");
    let error = install_item(
        &content(destination.clone()),
        Some((&cached, ABC.parse().unwrap())),
    )
    .unwrap_err();
    assert!(
        matches!(error, ItemInstallError::OtherKind { wanted: "file", .. }),
        "{error}"
    );
    assert_eq!(std::fs::read(&target).unwrap(), b"secret");
}

#[test]
fn other_kinds_in_the_way_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for kind in [
        ItemKind::Directory,
        ItemKind::Symlink { target: "x".into() },
    ] {
        let error = install_item(&item(file.clone(), kind), None).unwrap_err();
        assert!(
            matches!(error, ItemInstallError::OtherKind { .. }),
            "{error}"
        );
    }
    install_item(&item(dir.path().join("a/b"), ItemKind::Directory), None).unwrap();
    install_item(&item(dir.path().join("a/b"), ItemKind::Directory), None).unwrap();
}
