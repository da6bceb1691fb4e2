//! A disk that fills up under the store.

use std::path::Path;

use store::{Store, StoreConfig, StoreError};
use testkit::postgres::Postgres;

use crate::engine::{job, run_to};

/// A small file system, removed with its handle. `None` if it cannot be mounted (not root).
struct TinyDisk(tempfile::TempDir);

impl TinyDisk {
    fn mount(mib: u32) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tutti-test"])
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
async fn a_full_disk_under_sqlite_is_said_and_nothing_is_half_written() {
    let Some(disk) = TinyDisk::mount(6) else {
        eprintln!("skipped: mounting a small file system needs root");
        return;
    };
    let config = StoreConfig::sqlite(disk.0.path().join("tutti.db"));
    Box::pin(is_said_and_nothing_is_half_written(&disk, &config)).await;
}

/// The log is on the same disk, and PostgreSQL needs no new segment of it here, so the table is
/// what does not fit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_under_postgres_is_said_and_nothing_is_half_written() {
    // An empty cluster has about 30 MB, its log 16, the database of the test 8.
    let Some(disk) = TinyDisk::mount(128) else {
        eprintln!("skipped: mounting a small file system needs root");
        return;
    };
    let server = Postgres::start_in(disk.0.path()).unwrap();
    let config = StoreConfig::new(server.create_database().unwrap());
    Box::pin(is_said_and_nothing_is_half_written(&disk, &config)).await;
}

async fn is_said_and_nothing_is_half_written(disk: &TinyDisk, config: &StoreConfig) {
    let store = Store::open(config).await.unwrap();
    let number = store.insert_job(job(&["a"])).await.unwrap();
    let ballast = disk.0.path().join("ballast");
    // Less space remains than the job below needs, whose text PostgreSQL cannot compress.
    while write_more(&ballast, 64 << 10).is_ok() {}
    let mut big = job(&["a", "b"]);
    big.options = noise(1 << 20);
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
    let store = Store::open(config).await.unwrap();
    assert_eq!(
        store.run(number, "a").await.unwrap().unwrap().state,
        "finished"
    );
    store.close().await;
}

/// Text that cannot be compressed to a tenth of its size.
fn noise(length: usize) -> String {
    let mut state = 1_u64;
    let letters = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + (state >> 58) as u8)
    });
    letters.take(length).collect()
}

fn write_more(path: &Path, bytes: usize) -> std::io::Result<()> {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    file.write_all(&vec![0; bytes])
}
