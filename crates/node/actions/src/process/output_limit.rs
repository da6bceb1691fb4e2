//! Limit of the output kept of an action: [`OutputLimit`].
//!
//! An action writes into the spool by itself, so that no other process has to forward its output.
//! Output beyond the limit is removed from the file by punching a hole: the action goes on
//! undisturbed, the file keeps its true length, and only the disk space is freed. Invariants: bytes
//! below the limit are never touched, bytes beyond it never read while the limit is known. On a
//! file system without holes (NFS before 4.2, for example) they are not read either, but keep their
//! space. A process that the action leaves behind is not supervised, and so has no limit.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

use crate::defaults::OUTPUT_HOLE_BYTES;

/// The output streams of one action and their limit.
#[derive(Debug)]
pub(crate) struct OutputLimit {
    streams: [LimitedStream; 2],
    /// File in the spool entry that holds the limit.
    file: File,
}

#[derive(Debug)]
struct LimitedStream {
    file: File,
    /// End of the hole: from the limit to this offset everything was removed.
    hole_end: u64,
}

impl OutputLimit {
    /// Name of the file in a spool entry that holds the limit.
    const FILE: &'static str = "output_limit";

    /// Keeps `max_bytes` of each stream, rounded up to whole holes, and leaves
    /// that number in the entry.
    pub(super) fn set(entry: &Path, streams: [&File; 2], max_bytes: u64) -> io::Result<Self> {
        let limit = max_bytes
            .checked_next_multiple_of(OUTPUT_HOLE_BYTES)
            .unwrap_or(u64::MAX);
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o640)
            .open(entry.join(Self::FILE))?;
        file.write_all(limit.to_string().as_bytes())?;
        let stream = |file: &File| -> io::Result<LimitedStream> {
            Ok(LimitedStream {
                file: file.try_clone()?,
                hole_end: limit,
            })
        };
        let [stdout, stderr] = streams;
        Ok(Self {
            streams: [stream(stdout)?, stream(stderr)?],
            file,
        })
    }

    /// Number of bytes that count of each stream in `entry`. No limit if none is set (by pxp-agent,
    /// for example) or if a power loss destroyed the number: existing output is shown rather than
    /// nothing.
    pub(crate) fn of(entry: &Path) -> u64 {
        let text = std::fs::read_to_string(entry.join(Self::FILE));
        let limit = text.ok().and_then(|text| text.trim().parse().ok());
        limit.unwrap_or(u64::MAX)
    }

    /// Flushes the output and the limit to disk; costs nothing if there is no output.
    pub(super) fn sync(&self) -> io::Result<()> {
        let mut any = false;
        for stream in &self.streams {
            if stream.file.metadata()?.len() > 0 {
                stream.file.sync_data()?;
                any = true;
            }
        }
        if any {
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Removes the output written beyond the limit since the last call.
    pub(super) fn enforce(&mut self) {
        for stream in &mut self.streams {
            // The file system does not support it: ending the action would be worse.
            let _ = stream.enforce();
        }
    }
}

impl LimitedStream {
    fn enforce(&mut self) -> io::Result<()> {
        let written = self.file.metadata()?.len();
        // Only whole blocks of any file system: a partial block would be filled with zeros instead
        // of being freed.
        let end = written - written % OUTPUT_HOLE_BYTES;
        if end > self.hole_end {
            fallocate(
                &self.file,
                FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                self.hole_end,
                end - self.hole_end,
            )?;
            self.hole_end = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const HALF_A_HOLE: usize = OUTPUT_HOLE_BYTES as usize / 2;

    fn write(mut file: &File, halves: usize) {
        file.write_all(&vec![b'x'; halves * HALF_A_HOLE]).unwrap();
        file.sync_all().unwrap();
    }

    fn holes_of_room(file: &File) -> u64 {
        file.metadata().unwrap().blocks() * 512 / OUTPUT_HOLE_BYTES
    }

    #[test]
    fn what_goes_beyond_the_limit_takes_no_room_and_still_counts() {
        let entry = tempfile::tempdir().unwrap();
        let (stdout, stderr) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let mut limit =
            OutputLimit::set(entry.path(), [&stdout, &stderr], OUTPUT_HOLE_BYTES + 1).unwrap();
        let kept = OutputLimit::of(entry.path());
        assert_eq!(kept, 2 * OUTPUT_HOLE_BYTES, "rounded up");
        write(&stderr, 3);
        let mut halves = 0;
        for more in [7, 6, 6] {
            write(&stdout, more);
            halves += more as u64;
            limit.enforce();
            assert_eq!(holes_of_room(&stdout), 2, "and a half that waits");
            let length = stdout.metadata().unwrap().len();
            assert_eq!(length, halves * OUTPUT_HOLE_BYTES / 2);
        }
        assert_eq!(holes_of_room(&stderr), 1, "and a half, all of it kept");
    }

    #[test]
    fn entries_without_a_readable_limit_are_read_whole() {
        let entry = tempfile::tempdir().unwrap();
        assert_eq!(OutputLimit::of(entry.path()), u64::MAX);
        for lost in [&b""[..], b"\0\0\0", b"\xff"] {
            std::fs::write(entry.path().join(OutputLimit::FILE), lost).unwrap();
            assert_eq!(OutputLimit::of(entry.path()), u64::MAX, "{lost:?}");
        }
    }

    #[test]
    fn a_limit_beyond_all_files_is_one() {
        let entry = tempfile::tempdir().unwrap();
        let file = tempfile::tempfile().unwrap();
        let mut limit = OutputLimit::set(entry.path(), [&file, &file], u64::MAX).unwrap();
        write(&file, 4);
        limit.enforce();
        assert_eq!(holes_of_room(&file), 2);
    }
}
