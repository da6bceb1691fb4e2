//! Tests of the files that a catalog expects, on real files.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::cached_catalog::CachedCatalog;
use super::file_check::find_drift;

fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text);
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{{sha256}}{digits}")
}

fn metadata(kind: &str, relative_path: &str, text: &str) -> Value {
    json!({
        "type": kind, "relative_path": relative_path, "links": "manage", "owner": 0, "group": 0, "mode": 420,
        "destination": (kind == "link").then_some(text),
        "checksum": {"type": "sha256", "value": sha256(text)},
        "source": "puppet:///modules/m/x",
    })
}

/// Reads a catalog of these resources and descriptions.
fn catalog(root: &Path, files: &[(&str, Value)], metadata: Value, trees: Value) -> CachedCatalog {
    let resources = files.iter().map(|(name, parameters)| {
        let title = root.join(name);
        json!({"type": "File", "title": title, "parameters": parameters})
    });
    let document = json!({
        "name": "node.test", "version": 17, "environment": "production", "catalog_uuid": "x",
        "resources": resources.collect::<Vec<_>>(), "metadata": metadata, "recursive_metadata": trees,
    });
    let path = root.join("catalog.json");
    std::fs::write(&path, document.to_string()).unwrap();
    let catalog = CachedCatalog::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    catalog
}

/// The differences of a single file with these parameters.
fn drift_of(root: &Path, parameters: Value) -> Option<String> {
    let catalog = catalog(root, &[("f", parameters)], json!({}), json!({}));
    assert_eq!(catalog.files.len(), 1, "it is understood");
    find_drift(&catalog)
        .into_iter()
        .next()
        .map(|drift| drift.difference)
}

#[test]
fn a_file_is_compared_with_all_that_its_resource_says() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let file = root.join("f");
    std::fs::write(&file, "hello").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let (uid, gid) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    for as_it_is in [
        json!({"content": "hello"}),
        json!({"ensure": "file", "content": "hello", "mode": "0640", "owner": uid, "group": gid.to_string()}),
        json!({"ensure": "file"}),
        json!({"ensure": "present", "mode": "640"}),
        json!({"content": "other", "replace": false}),
        json!({"mode": "0640", "notify": "Service[x]", "backup": false, "tag": ["a"]}),
    ] {
        assert_eq!(drift_of(root, as_it_is.clone()), None, "{as_it_is}");
    }
    for (other, part) in [
        (json!({"content": "hello\n"}), "content"),
        (json!({"ensure": "absent"}), "absent"),
        (json!({"ensure": "directory"}), "no directory"),
        (json!({"ensure": "link", "target": "/x"}), "no link"),
        (json!({"ensure": "/x"}), "no link"),
        (json!({"content": "hello", "mode": "0600"}), "mode is 0640"),
        (json!({"content": "hello", "owner": uid + 1}), "owner"),
        (json!({"content": "hello", "group": gid + 1}), "group"),
    ] {
        let found = drift_of(root, other.clone()).unwrap_or_default();
        assert!(found.contains(part), "{other}: {found}");
    }
    std::fs::remove_file(&file).unwrap();
    assert_eq!(drift_of(root, json!({"ensure": "absent"})), None);
    assert_eq!(
        drift_of(root, json!({"mode": "0600"})),
        None,
        "it need not exist"
    );
    assert_eq!(
        drift_of(root, json!({"ensure": "file"})).as_deref(),
        Some("it is missing")
    );
}

#[test]
fn links_are_not_followed_and_nothing_else_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let file = root.join("f");
    std::fs::write(root.join("other"), "hello").unwrap();
    symlink(root.join("other"), &file).unwrap();
    let found = drift_of(root, json!({"content": "hello"}));
    assert_eq!(found.as_deref(), Some("it is no regular file"));
    assert_eq!(
        drift_of(
            root,
            json!({"ensure": "link", "target": root.join("other")})
        ),
        None
    );
    assert!(drift_of(root, json!({"ensure": "link", "target": "/x"})).is_some());
    std::fs::remove_file(&file).unwrap();
    // reading a pipe would wait for a writer
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &file,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(drift_of(root, json!({"content": "hello"})).is_some());
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        drift_of(root, json!({"ensure": "directory", "mode": "0644"})),
        None
    );
    assert!(drift_of(root, json!({"ensure": "directory", "mode": "0600"})).is_some());
}

#[test]
fn what_is_not_understood_is_left_to_puppet() {
    let dir = tempfile::tempdir().unwrap();
    let deferred = json!({"__ptype": "Deferred", "name": "x"});
    let mut files = vec![("../x", json!({"content": "a"}))];
    for unusual in [
        json!({"content": deferred}),
        json!({"content": "{md5}900150983cd24fb0d6963f7d28e17f72"}),
        json!({"content": "a", "mode": "u=rw"}),
        json!({"content": "a", "mode": "99999"}),
        json!({"content": "a", "owner": "nobody-has-this-name"}),
        json!({"content": "a", "checksum": "md5"}),
        json!({"content": "a", "links": "follow"}),
        json!({"content": "a", "noop": true}),
        json!({"content": "a", "audit": "all"}),
        json!({"content": "a", "seltype": "etc_t"}),
        json!({"content": "a", "schedule": "daily"}),
        json!({"source": "puppet:///modules/m/not-described"}),
        json!({"source": "https://example.com/x"}),
        json!({"ensure": "directory", "recurse": true}),
        json!({"ensure": "directory", "recurse": true, "recurselimit": 1}),
        json!({"ensure": 1}),
    ] {
        files.push(("f", unusual));
    }
    for file in files {
        let catalog = catalog(
            dir.path(),
            std::slice::from_ref(&file),
            json!({}),
            json!({}),
        );
        assert!(catalog.files.is_empty(), "{file:?}: {:?}", catalog.files);
        assert_eq!(catalog.resources, 1);
    }
}

#[test]
fn a_directory_is_compared_with_its_source() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let tree = root.join("t");
    std::fs::create_dir_all(tree.join("sub")).unwrap();
    std::fs::write(tree.join("a"), "a").unwrap();
    std::fs::write(tree.join("sub/b"), "b").unwrap();
    std::fs::write(tree.join("own"), "changed by another resource").unwrap();
    let source = "puppet:///modules/m/x";
    let trees = json!({tree.to_str().unwrap(): {source: [
        metadata("directory", ".", ""), metadata("file", "a", "a"), metadata("directory", "sub", ""),
        metadata("file", "sub/b", "b"), metadata("file", "own", "of the source"),
    ]}});
    let drifts = |purge: bool| {
        let files = [
            (
                "t",
                json!({"ensure": "directory", "recurse": true, "purge": purge, "source": source}),
            ),
            ("t/own", json!({"content": "changed by another resource"})),
        ];
        let catalog = catalog(root, &files, json!({}), trees.clone());
        assert_eq!(catalog.files.len(), 2);
        find_drift(&catalog)
    };
    assert_eq!(drifts(true), []);
    std::fs::write(tree.join("sub/unknown"), "x").unwrap();
    assert_eq!(drifts(false), []);
    assert_eq!(drifts(true)[0].path, tree.join("sub/unknown"));
    std::fs::write(tree.join("sub/b"), "drifted").unwrap();
    assert_eq!(drifts(false)[0].path, tree.join("sub/b"));
    std::fs::remove_dir_all(tree.join("sub")).unwrap();
    assert_eq!(drifts(false)[0].difference, "it is missing");

    // with `remote`, Puppet does not look at what else there is
    let files = [(
        "t",
        json!({"recurse": "remote", "purge": true, "source": source}),
    )];
    std::fs::create_dir_all(tree.join("sub")).unwrap();
    std::fs::write(tree.join("sub/b"), "b").unwrap();
    std::fs::write(tree.join("own"), "of the source").unwrap();
    std::fs::write(tree.join("unknown"), "x").unwrap();
    let remote = catalog(root, &files, json!({}), trees.clone());
    assert_eq!(find_drift(&remote), []);

    let hostile =
        json!({tree.to_str().unwrap(): {source: [metadata("file", "../../etc/passwd", "x")]}});
    let files = [("t", json!({"recurse": true, "source": source}))];
    assert!(catalog(root, &files, json!({}), hostile).files.is_empty());
}

#[test]
fn a_copy_of_a_file_of_the_server_is_compared_with_its_description() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let file = root.join("f");
    let title = file.to_str().unwrap();
    std::fs::write(&file, "hello").unwrap();
    let files = [("f", json!({"source": "puppet:///modules/m/x"}))];
    let drifts = |text: &str| {
        let metadata = json!({title: metadata("file", "", text)});
        find_drift(&catalog(root, &files, metadata, json!({}))).len()
    };
    assert_eq!(drifts("hello"), 0);
    assert_eq!(drifts("other"), 1);
}
