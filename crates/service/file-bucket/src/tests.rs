//! Tests of the bucket on a real directory.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use md5::Md5;
use sha2::{Digest as _, Sha256};

use crate::defaults::{KEEP, NODE_PART};
use crate::{BucketKey, FileBucket, FileBucketConfig, FileBucketError};

fn bucket(directory: &Path, total_bytes: u64) -> FileBucket {
    FileBucket::start(FileBucketConfig {
        total_bytes,
        ..FileBucketConfig::new(directory.join("bucket"))
    })
    .unwrap()
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn key(content: &[u8], path: &str) -> BucketKey {
    let hash = hex(&Sha256::digest(content));
    format!("sha256/{hash}/{path}").parse().unwrap()
}

fn store(bucket: &FileBucket, node: &str, content: &[u8], path: &str) {
    let (node, mut source) = (node.parse().unwrap(), content);
    bucket
        .store(&node, &key(content, path), &mut source)
        .unwrap();
}

fn read(bucket: &FileBucket, node: &str, key: &BucketKey) -> Option<Vec<u8>> {
    let file = bucket.open(&node.parse().unwrap(), key).unwrap();
    file.map(|mut file| {
        let mut content = Vec::new();
        file.content.read_to_end(&mut content).unwrap();
        assert_eq!(content.len() as u64, file.bytes);
        content
    })
}

fn contents(directory: &Path) -> usize {
    let directories = fs::read_dir(directory.join("bucket/contents")).unwrap();
    let files = directories.map(|it| fs::read_dir(it.unwrap().path()).unwrap().count());
    files.sum()
}

#[tokio::test]
async fn a_node_reads_what_it_stored_under_the_paths_that_it_had() {
    let directory = tempfile::tempdir().unwrap();
    let bucket = bucket(directory.path(), 1 << 20);
    store(&bucket, "web1", b"old\n", "/etc/motd");
    store(&bucket, "web1", b"old\n", "/etc/issue");
    store(&bucket, "web2", b"old\n", "/etc/motd");
    assert_eq!(contents(directory.path()), 1, "each content once");
    for (node, path, expected) in [
        ("web1", "/etc/motd", true),
        ("web1", "/etc/issue", true),
        ("web1", "", true),
        ("web1", "/etc/other", false),
        ("web2", "/etc/issue", false),
        ("web3", "", false),
    ] {
        let found = read(&bucket, node, &key(b"old\n", path));
        assert_eq!(found.is_some(), expected, "{node} {path}");
        assert_eq!(found.unwrap_or(b"old\n".to_vec()), b"old\n");
    }
    let md5: BucketKey = format!("md5/{}", hex(&Md5::digest(b"old\n")))
        .parse()
        .unwrap();
    assert_eq!(read(&bucket, "web1", &md5), None);
    let node = "web1".parse().unwrap();
    bucket.store(&node, &md5, &mut &b"old\n"[..]).unwrap();
    assert!(read(&bucket, "web1", &md5).is_some());
    assert_eq!(contents(directory.path()), 1);
    bucket.shutdown().await;
}

#[tokio::test]
async fn a_file_with_another_hash_or_that_breaks_off_leaves_nothing() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let bucket = bucket(directory.path(), 1 << 20);
    let node = "web1".parse().unwrap();
    let key = key(b"announced", "/a");
    let refused = bucket.store(&node, &key, &mut &b"sent"[..]);
    assert!(matches!(refused, Err(FileBucketError::Mismatch { .. })));
    let refused = bucket.store(&node, &key, &mut (&b"annou"[..]).chain(Broken));
    assert!(matches!(refused, Err(FileBucketError::Source(_))));
    assert_eq!(read(&bucket, "web1", &key), None);
    let incoming = directory.path().join("bucket/incoming");
    assert_eq!(fs::read_dir(incoming).unwrap().count(), 0);
    bucket.shutdown().await;
}

#[tokio::test]
async fn old_entries_are_removed_and_contents_with_the_last_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let bucket = bucket(directory.path(), 1 << 20);
    store(&bucket, "web1", b"both", "/a");
    store(&bucket, "web2", b"both", "/a");
    store(&bucket, "web1", b"one", "/b");
    bucket.prune(SystemTime::now()).unwrap();
    assert_eq!(bucket.inner.bytes(), 7);
    // web2 stored it again lately
    let later = SystemTime::now() + KEEP + Duration::from_secs(60);
    let paths = directory
        .path()
        .join("bucket/nodes/web2")
        .join(format!("sha256-{}.paths", hex(&Sha256::digest(b"both"))));
    let file = fs::File::options().append(true).open(paths).unwrap();
    file.set_modified(later).unwrap();
    bucket.prune(later).unwrap();
    assert_eq!(read(&bucket, "web1", &key(b"both", "")), None);
    assert!(read(&bucket, "web2", &key(b"both", "")).is_some());
    assert_eq!(contents(directory.path()), 1);
    let nodes = directory.path().join("bucket/nodes");
    assert_eq!(fs::read_dir(nodes).unwrap().count(), 1);
    bucket.shutdown().await;
}

#[tokio::test]
async fn a_node_that_stores_much_loses_its_own_oldest_files() {
    let directory = tempfile::tempdir().unwrap();
    let bucket = bucket(directory.path(), 1_000 * NODE_PART);
    store(&bucket, "web2", &[0; 900], "/other");
    for number in 0..20_u8 {
        store(&bucket, "web1", &[number + 1; 300], "/a");
        let oldest = directory.path().join("bucket/nodes/web1").join(format!(
            "sha256-{}.paths",
            hex(&Sha256::digest([number + 1; 300]))
        ));
        // the clock of the file system may be coarse
        let at = SystemTime::now() - Duration::from_secs(1_000 - u64::from(number));
        let file = fs::File::options().append(true).open(oldest).unwrap();
        file.set_modified(at).unwrap();
    }
    let kept: Vec<u8> = (1..=20)
        .filter(|number| read(&bucket, "web1", &key(&[*number; 300], "")).is_some())
        .collect();
    assert_eq!(kept, [18, 19, 20]);
    assert!(read(&bucket, "web2", &key(&[0; 900], "")).is_some());
    bucket.shutdown().await;
}

#[tokio::test]
async fn a_full_bucket_refuses_until_the_oldest_files_are_gone() {
    let directory = tempfile::tempdir().unwrap();
    let bucket = bucket(directory.path(), 10_000);
    for number in 0..12_u8 {
        store(&bucket, &format!("web{number}"), &[number; 900], "/a");
        if number == 11 {
            break;
        }
    }
    let node = "late".parse().unwrap();
    let refused = bucket.store(&node, &key(b"x", "/a"), &mut &b"x"[..]);
    assert!(matches!(refused, Err(FileBucketError::Full)));
    bucket.prune(SystemTime::now()).unwrap();
    assert!(bucket.inner.bytes() <= 9_000);
    store(&bucket, "late", b"x", "/a");
    bucket.shutdown().await;
}

#[tokio::test]
async fn only_its_user_may_read_the_bucket() {
    let directory = tempfile::tempdir().unwrap();
    let bucket = bucket(directory.path(), 1 << 20);
    store(&bucket, "web1", b"secret", "/etc/shadow");
    for path in [
        "bucket/contents",
        "bucket/nodes",
        "bucket/nodes/web1",
        "bucket/incoming",
    ] {
        let mode = fs::metadata(directory.path().join(path)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o700, "{path}");
    }
    bucket.shutdown().await;
}
