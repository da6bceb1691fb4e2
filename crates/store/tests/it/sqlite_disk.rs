//! A disk that fills up under SQLite.

use store::{Store, StoreConfig, StoreError};

use crate::engine::{job, run_to};

/// A file system of 6 MiB, gone with its handle. `None` where it cannot be made (not root).
struct TinyDisk(tempfile::TempDir);

impl TinyDisk {
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=6m", "tutti-test"])
            .arg(directory.path())
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Self(directory))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(self.0.path())
            .output();
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_nothing_is_half_written() {
    let Some(disk) = TinyDisk::mount() else {
        eprintln!("skipped: mounting a small file system needs root");
        return;
    };
    let config = StoreConfig::sqlite(disk.0.path().join("tutti.db"));
    let store = Store::open(&config).await.unwrap();
    let number = store.insert_job(job(&["a"])).await.unwrap();
    let ballast = disk.0.path().join("ballast");
    // Leaves some hundred KiB, less than the result below.
    while write_more(&ballast, 64 << 10).is_ok() {}
    let mut big = job(&["a", "b"]);
    big.options = "x".repeat(1 << 20);
    let error = store.insert_job(big.clone()).await.unwrap_err();
    assert!(matches!(error, StoreError::DiskFull(_)), "{error:?}");
    assert!(error.to_string().contains("free some space"), "{error}");
    std::fs::remove_file(&ballast).unwrap();
    assert_eq!(store.insert_job(big).await.unwrap().get(), number.get() + 1);
    let applied = store
        .commit(vec![run_to(number, "a", "finished", 1)])
        .await
        .unwrap();
    assert!(applied[0].changed);
    store.close().await;
    let store = Store::open(&config).await.unwrap();
    assert_eq!(
        store.run(number, "a").await.unwrap().unwrap().state,
        "finished"
    );
    store.close().await;
}

fn write_more(path: &std::path::Path, bytes: usize) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    file.write_all(&vec![0; bytes])
}
