//! The clock of a server: [`BootClock`].
//!
//! Invariant: its steady clock goes on over restarts of the process.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use store::{Clock, SystemClock};

/// The machine's clock, with a steady clock that begins at the first start after a boot and goes on
/// over restarts of the process. After a boot it begins with the time of day, since the time
/// without power is not known otherwise.
#[derive(Clone, Copy, Debug)]
pub struct BootClock {
    /// Difference of the steady clock and the time since the boot, in milliseconds.
    offset_ms: i64,
}

/// Content of the file that [`BootClock`] keeps.
#[derive(Debug, Serialize, Deserialize)]
struct BootRecord {
    boot_id: String,
    offset_ms: i64,
}

// === impl BootClock ===

impl BootClock {
    /// Continues the clock that a process of this boot recorded in the file, or begins one and
    /// records it. If the file cannot be read or written, the clock only begins anew in each
    /// process.
    pub fn open(path: &Path) -> Self {
        let boot_id = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        let boot_id = boot_id.trim();
        let left = std::fs::read(path).ok();
        let left = left.and_then(|text| serde_json::from_slice::<BootRecord>(&text).ok());
        if let Some(left) = left.filter(|left| left.boot_id == boot_id && !boot_id.is_empty()) {
            return Self {
                offset_ms: left.offset_ms,
            };
        }
        let offset_ms = SystemClock.now_ms().saturating_sub(since_boot_ms());
        let record = BootRecord {
            boot_id: boot_id.to_owned(),
            offset_ms,
        };
        if let Err(error) = write_boot_record(path, &record) {
            tracing::warn!(path = %path.display(), %error,
                "cannot write the file of the steady clock; ages of runs go by the time of day after a restart");
        }
        Self { offset_ms }
    }
}

impl Clock for BootClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }

    fn steady_ms(&self) -> i64 {
        self.offset_ms.saturating_add(since_boot_ms())
    }
}

/// Random id that the kernel gives to each boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Milliseconds since the machine's boot, with the time that it slept.
fn since_boot_ms() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let of_second_ms = time.tv_nsec / 1_000_000;
    time.tv_sec
        .saturating_mul(1_000)
        .saturating_add(of_second_ms)
}

/// A power cut may leave no file or an empty one, which another boot does not need; so nothing is
/// flushed.
fn write_boot_record(path: &Path, record: &BootRecord) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    serde_json::to_writer(&mut file, record)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_boot_goes_on_in_the_next_process() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("clock.json");
        let first = BootClock::open(&path);
        let hour_ms = 3_600_000;
        assert!((first.now_ms() - first.steady_ms()).abs() < hour_ms);
        // As if the clock had been set since the first process of this boot.
        let mut left: BootRecord = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        left.offset_ms -= hour_ms;
        std::fs::write(&path, serde_json::to_vec(&left).unwrap()).unwrap();
        let next = BootClock::open(&path);
        assert_eq!(next.offset_ms, first.offset_ms - hour_ms);
        for other in [&b"{"[..], br#"{"boot_id":"another","offset_ms":5}"#, b""] {
            std::fs::write(&path, other).unwrap();
            let anew = BootClock::open(&path);
            assert!((anew.offset_ms - first.offset_ms).abs() < hour_ms);
            assert_eq!(BootClock::open(&path).offset_ms, anew.offset_ms);
        }
        let nowhere = BootClock::open(&directory.path().join("absent/clock.json"));
        assert!((nowhere.now_ms() - nowhere.steady_ms()).abs() < hour_ms);
    }
}
