//! Storage of file contents by their hash.

use std::io::{self, Read};

use environments::{BlobError, BlobStore, Sha256};

use crate::tree::Tree;

fn content(blobs: &BlobStore, sha256: &Sha256) -> Option<Vec<u8>> {
    let mut blob = blobs.open_blob(sha256).unwrap()?;
    let mut bytes = Vec::new();
    blob.content.read_to_end(&mut bytes).unwrap();
    assert_eq!(blob.size_bytes, bytes.len() as u64);
    Some(bytes)
}

#[test]
fn a_blob_is_found_by_the_hash_of_what_was_read() {
    let directory = tempfile::tempdir().unwrap();
    let blobs = BlobStore::open(directory.path().join("blobs")).unwrap();
    let sha256 = blobs.store_stream(&mut &b"abc"[..], "abc").unwrap();
    assert!(sha256.to_string().starts_with("ba7816bf"));
    assert_eq!(
        blobs.store_stream(&mut &b"abc"[..], "abc").unwrap(),
        sha256,
        "twice is once"
    );
    let again = BlobStore::open(directory.path().join("blobs")).unwrap();
    assert_eq!(content(&again, &sha256).unwrap(), b"abc");
    assert_eq!(content(&blobs, &Sha256::from([0; 32])), None);
    assert!(
        directory
            .path()
            .join("blobs/ba")
            .join(sha256.to_string())
            .is_file()
    );
}

#[test]
fn a_file_that_changed_since_it_was_looked_up_is_refused() {
    let tree = Tree::new(&[("modules/a/tasks/init.sh", "one")]);
    let blobs = BlobStore::open(tree.path("/blobs")).unwrap();
    let looked_up = tree.task("a").unwrap();
    tree.write("modules/a/tasks/init.sh", b"two");
    let error = blobs.store_task_file(&looked_up.files[0]).unwrap_err();
    assert!(matches!(error, BlobError::Changed { .. }), "{error}");
    assert!(!blobs.contains(&looked_up.files[0].sha256).unwrap());
    let now = tree.task("a").unwrap();
    blobs.store_task_file(&now.files[0]).unwrap();
    tree.write("modules/a/tasks/init.sh", b"three");
    blobs.store_task_file(&now.files[0]).unwrap();
    assert_eq!(
        content(&blobs, &now.files[0].sha256).unwrap(),
        b"two",
        "jobs keep what they had"
    );
}

#[test]
fn a_blob_that_was_damaged_is_replaced_by_who_needs_it() {
    let tree = Tree::new(&[("modules/a/tasks/init.sh", "one")]);
    let blobs = BlobStore::open(tree.path("/blobs")).unwrap();
    let file = tree.task("a").unwrap().files.remove(0);
    blobs.store_task_file(&file).unwrap();
    let name = file.sha256.to_string();
    let kept = tree.path("/blobs").join(&name[..2]).join(&name);
    for damage in ["", "on", "two", "one more"] {
        std::fs::write(&kept, damage).unwrap();
        blobs.store_task_file(&file).unwrap();
        assert_eq!(content(&blobs, &file.sha256).unwrap(), b"one");
    }
}

#[test]
fn a_source_that_fails_leaves_nothing() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let blobs = BlobStore::open(directory.path()).unwrap();
    let error = blobs
        .store_stream(&mut b"abc".chain(Broken), "the file")
        .unwrap_err();
    assert!(error.to_string().contains("the file"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
